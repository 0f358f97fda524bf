package config

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/sasl"
)

// leaky is a mechanism as a user may write it.
type leaky struct{ Password string }

func (leaky) Name() string { return "X" }

func (leaky) Authenticate(context.Context, string) (sasl.Session, []byte, error) {
	return nil, nil, nil
}

// secretive has the canary everywhere a secret can be.
func secretive(t *testing.T) Config {
	t.Helper()
	c := valid()
	found := 0
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		if v.Field(i).Type() == reflect.TypeFor[Secret]() {
			v.Field(i).Set(reflect.ValueOf(NewSecret(canary)))
			found++
		}
	}
	if found == 0 {
		t.Fatal("no Secret in Config")
	}
	for _, p := range table {
		if isSecretKind(p.kind) && p.field != "" {
			p.kind.parse(&c, canary)
		}
	}
	c.SASL = leaky{canary}
	c.TLS = &tls.Config{Certificates: []tls.Certificate{{PrivateKey: canary}}, ServerName: canary}
	return c
}

// isSecretKind reports whether no value of a property may ever be shown.
func isSecretKind(k kind) bool { return !k.harmless("x") }

func TestConfigNeverPrintsSecrets(t *testing.T) {
	c := secretive(t)
	wantNoCanary(t, "config", c)
	wantNoCanary(t, "pointer", &c)
	// Behind an unexported field fmt calls no method; SASL and TLS are then the
	// user's own, what counts is the password.
	c.SASL, c.TLS, c.TruststoreCertificates, c.KeystoreCertificates = nil, nil, "", ""
	wantNoCanary(t, "unexported field", struct{ c Config }{c})
	wantNoCanary(t, "unexported pointer", struct{ c *Config }{&c})
}

func TestErrorsNeverShowSecrets(t *testing.T) {
	c := secretive(t)
	c.SASL, c.TLS, c.Linger = nil, nil, -1
	c.SASLPassword = NewSecret(canary + "\x00")
	for _, p := range []SecurityProtocol{ProtocolPlaintext, ProtocolSSL, ProtocolSASLPlaintext, ProtocolSASLSSL} {
		c.SecurityProtocol = p
		err := c.Validate()
		wantNoCanary(t, p.String(), err)
		for _, f := range faultsOf(t, err) {
			wantNoCanary(t, f.Property, *f)
		}
	}
	for _, p := range table {
		if !isSecretKind(p.kind) {
			continue
		}
		for _, value := range []string{canary, canary + "\x00", canary + "\xff", `org.apache.kafka.common.security.plain.PlainLoginModule required username="` + canary} {
			if _, err := FromMap(map[string]string{p.name: value}); err != nil {
				wantNoCanary(t, p.name, err)
			}
			if _, err := Parse([]byte("linger.ms=x\n" + p.name + "=" + value)); err != nil {
				wantNoCanary(t, p.name, err)
			}
		}
	}
}

// A line that cannot be read may be the one with the password.
func TestUnreadableLinesAreNotShown(t *testing.T) {
	for _, line := range []string{"=" + canary, "  : " + canary, "\ufeff\ufeff=" + canary, "sasl.password=" + canary + `\u00zz`, "sasl.password=" + canary + `\ud800`, "sasl.password=" + canary + "\xff"} {
		_, err := Parse([]byte(line))
		if err == nil {
			t.Errorf("%q accepted", line)
		}
		if strings.Contains(err.Error(), canary[:4]) {
			t.Error(err)
		}
	}
}

func TestString(t *testing.T) {
	c := valid()
	c.ClientID = `a "b"`
	c.SASLPassword = NewSecret(canary)
	c.Logger = slog.New(slog.DiscardHandler)
	c.Dialer = func(context.Context, string, string) (net.Conn, error) { return nil, nil }
	s := c.String()
	for _, part := range []string{`config.Config{bootstrap.servers="127.0.0.1:9092" client.id="a \"b\"" linger.ms="5" `,
		` sasl.password="[hidden]" `, ` Logger="set" Dialer="set"}`} {
		if !strings.Contains(s, part) {
			t.Errorf("%s is not in %s", part, s)
		}
	}
	if strings.Contains(s, "TLS=") || strings.Contains(s, "acks") {
		t.Error(s)
	}
	if got := fmt.Sprintf("%+v|%#v", c, &c); got != s+"|"+s {
		t.Errorf("got %s", got)
	}
	if got := c.GoString(); got != s {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint((*Config)(nil)); got != "<nil>" {
		t.Errorf("nil: %s", got)
	}
}

func TestJSONIsWhatFromMapReads(t *testing.T) {
	c := valid()
	for name, value := range otherValues {
		if p := lookup(name); !isSecretKind(p.kind) {
			p.kind.parse(&c, value)
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]string
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	back, err := FromMap(m)
	if err != nil {
		t.Fatal(err)
	}
	if changed := changedFields(c, back); len(changed) > 0 {
		t.Errorf("%v came back changed", changed)
	}
}

func TestLogValueHasEveryProperty(t *testing.T) {
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Info("m", "config", valid())
	for name, value := range wantDefaults {
		if name == "bootstrap.servers" {
			value = "127.0.0.1:9092"
		}
		if part := fmt.Sprintf("%q:%q", name, value); !strings.Contains(b.String(), part) {
			t.Errorf("%s is not in %s", part, b.String())
		}
	}
}

func TestFieldErrorIsOneLine(t *testing.T) {
	for _, tc := range []struct {
		e    FieldError
		want string
	}{
		{FieldError{"linger.ms", "x", "is bad", ""}, `config: linger.ms = "x": is bad`},
		{FieldError{"linger.ms", "", "is bad", "f:3"}, `config: f:3: linger.ms: is bad`},
		{FieldError{"", "", "is bad", "line 3"}, `config: line 3: is bad`},
		{FieldError{"a\nb", "c\nd", "is bad", ""}, `config: "a\nb" = "c\nd": is bad`},
		{FieldError{"a", strings.Repeat("é", 80), "is bad", ""}, `config: a = "` + strings.Repeat("é", 50) + `...": is bad`},
		{FieldError{"a", "x" + strings.Repeat("é", 80), "is bad", ""}, `config: a = "x` + strings.Repeat("é", 49) + `...": is bad`},
	} {
		if got := tc.e.Error(); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
	long := FieldError{Property: strings.Repeat("a", 1000), Problem: "is bad"}
	if len(long.Error()) > 200 {
		t.Error("a long name is not clipped")
	}
}
