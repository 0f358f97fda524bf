package config

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"text/template"
)

// canary is looked for in everything that is printed.
const canary = "c4n4ry-S3cr3t"

func TestSecretReveals(t *testing.T) {
	if got := NewSecret(canary).Reveal(); got != canary {
		t.Errorf("got %q", got)
	}
	if (Secret{}).Reveal() != "" || NewSecret("").Reveal() != "" {
		t.Error("the empty secret is not empty")
	}
}

func TestSecretMask(t *testing.T) {
	for _, s := range []Secret{{}, NewSecret("x"), NewSecret(canary)} {
		for _, format := range verbs {
			if got := fmt.Sprintf(format, s); got != mask {
				t.Errorf("%s: got %q", format, got)
			}
		}
		if s.String() != mask || s.GoString() != mask || s.LogValue().String() != mask {
			t.Error("a method does not mask")
		}
		if text, err := s.MarshalText(); string(text) != mask || err != nil {
			t.Errorf("MarshalText: %q, %v", text, err)
		}
		if text, err := json.Marshal(s); string(text) != `"`+mask+`"` || err != nil {
			t.Errorf("JSON: %q, %v", text, err)
		}
	}
}

var verbs = []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%40v", "%-40s", "%.2s", "%t", "%b", "% x", "%#x"}

// holder has an exported field; behind an unexported one fmt calls no method, so
// that is tested apart, where it can be promised.
type holder struct{ Exported any }

// printings returns all ways in which v may get into a log, each with a name.
func printings(v any) map[string]string {
	out := map[string]string{}
	hold := holder{v}
	for name, x := range map[string]any{
		"value": v, "struct": hold, "pointer to struct": &hold, "slice": []any{v}, "array": [1]any{v},
		"map": map[string]any{"k": v}, "key": map[any]int{fmt.Sprint(v): 1}, "error": fmt.Errorf("x: %v", v),
	} {
		for _, format := range verbs {
			out[name+" "+format] = fmt.Sprintf(format, x)
		}
		text, err := json.Marshal(x)
		out[name+" json"] = fmt.Sprint(string(text), err)
		text, err = xml.Marshal(x)
		out[name+" xml"] = fmt.Sprint(string(text), err)
		out[name+" slog text"] = logged(x, func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) })
		out[name+" slog json"] = logged(x, func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) })
		var b bytes.Buffer
		err = template.Must(template.New("").Parse("{{.}} {{print .}} {{printf \"%#v\" .}}")).Execute(&b, x)
		out[name+" template"] = fmt.Sprint(b.String(), err)
	}
	return out
}

func logged(v any, handler func(*bytes.Buffer) slog.Handler) string {
	var b bytes.Buffer
	slog.New(handler(&b)).With("with", v).WithGroup("g").Info("m", "value", v, slog.Group("h", "value", v))
	return b.String()
}

func wantNoCanary(t *testing.T, what string, v any) {
	t.Helper()
	for how, s := range printings(v) {
		// Hexadecimal verbs would show it as digits.
		for _, form := range []string{canary, fmt.Sprintf("%x", canary), fmt.Sprintf("%X", canary), fmt.Sprint([]byte(canary))} {
			if strings.Contains(s, form) {
				t.Errorf("%s as %s shows it: %.300s", what, how, s)
			}
		}
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	s := NewSecret(canary)
	wantNoCanary(t, "secret", s)
	wantNoCanary(t, "pointer", &s)
	wantNoCanary(t, "unexported field", struct{ s Secret }{s})
	wantNoCanary(t, "unexported in unexported", struct{ h struct{ s []Secret } }{struct{ s []Secret }{[]Secret{s}}})
}

// The search itself finds what it looks for.
func TestCanaryIsFoundInPlainText(t *testing.T) {
	for how, s := range printings(struct{ s string }{canary}) {
		if strings.HasPrefix(how, "value %v") && !strings.Contains(s, canary) {
			t.Errorf("%s: %s", how, s)
		}
	}
	type plain string
	found := 0
	for _, s := range printings(struct{ s plain }{canary}) {
		if strings.Contains(s, canary) {
			found++
		}
	}
	if found == 0 {
		t.Error("a string behind an unexported field was not found, so nothing is tested")
	}
}
