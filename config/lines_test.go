package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magiconair/properties"
)

func TestLines(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		want       []string // NAME=VALUE@LINE
	}{
		{"separators", "a=1\nb:2\nc 3\nd\t=\t4\ne = : 5\nf\ng=\n", []string{"a=1@1", "b=2@2", "c=3@3", "d=4@4", "e=: 5@5", "f=@6", "g=@7"}},
		{"comments and blanks", "# a=1\n\n  ! b=2 \\\n \t\fc=3\nd=4 # 5\n", []string{"c=3@4", "d=4 # 5@5"}},
		{"no last line end", "a=1\nb=2", []string{"a=1@1", "b=2@2"}},
		{"CRLF and CR", "a=1\r\nb=2\rc=3\r\n\r\nd=4", []string{"a=1@1", "b=2@2", "c=3@3", "d=4@5"}},
		{"continuation", "a=1,\\\n   2,\\\n\t3\nb=4", []string{"a=1,2,3@1", "b=4@4"}},
		{"continuation with CRLF", "a=1,\\\r\n   2\r\nb=3", []string{"a=1,2@1", "b=3@3"}},
		{"continued comment sign", "a=1\\\n# 2\n", []string{"a=1# 2@1"}},
		{"continued name", "a\\\n b = 1", []string{"ab=1@1"}},
		{"continued separator", "a \\\n = 1", []string{"a=1@1"}},
		{"escaped backslash is no continuation", "a=1\\\\\nb=2", []string{`a=1\@1`, "b=2@2"}},
		{"backslash at the end", "a=1\\", []string{"a=1@1"}},
		{"lone backslash", "\\\n\nb=1", []string{"b=1@3"}},
		{"escapes", `a\=\:\ b = \t\\\"\u00e9x\q`, []string{"a=: b=\t\\\"éxq@1"}},
		{"no expansion", "a=${HOME} ${b}\nb=${a}", []string{"a=${HOME} ${b}@1", "b=${a}@2"}},
		{"byte order mark", "\ufeffa=1", []string{"a=1@1"}},
		{"space at the end stays", "a=1 \nb= 2\t", []string{"a=1 @1", "b=2\t@2"}},
		{"empty", "", nil},
	} {
		entries, faults := entriesOf(tc.file, func(n int) string { return fmt.Sprint(n) })
		if len(faults) > 0 {
			t.Errorf("%s: %v", tc.name, faults)
		}
		var got []string
		for _, e := range entries {
			if e.problem != "" {
				t.Errorf("%s: %s", tc.name, e.problem)
			}
			got = append(got, e.name+"="+e.value+"@"+e.origin)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

func TestFileFaultsAllAtOnce(t *testing.T) {
	_, err := Parse([]byte(`
# comment
linger.ms = 5s
=lost
batch.sizes = 1
client.id = a\u12
linger.ms = 6
compression.type = zip
unknown.unknown = 1
unknown.unknown = 2
bootstrap.servers = broker
`))
	wantFaults(t, err,
		"linger.ms: write 5000",
		": no property name",
		"batch.sizes: did you mean batch.size?",
		`: has a \u that four`,
		"linger.ms: was given before, at line 3",
		"compression.type: must be none",
		"unknown.unknown: unknown property",
		"unknown.unknown: was given before, at line 9",
		"bootstrap.servers: has no port")
	var origins []string
	for _, f := range faultsOf(t, err) {
		origins = append(origins, strings.TrimPrefix(f.Origin, "line "))
	}
	if got := strings.Join(origins, " "); got != "3 4 5 6 7 8 9 10 11" {
		t.Errorf("lines %s", got)
	}
}

func TestFileMustBeUTF8(t *testing.T) {
	_, err := Parse([]byte("a=1\nsasl.password=\xe9\n"))
	wantFaults(t, err, ": not valid UTF-8")
	if got := faultsOf(t, err)[0].Origin; got != "line 2" {
		t.Errorf("at %s", got)
	}
	_, err = Parse([]byte("sasl.password=\\ud83d\\ude00\n"))
	wantFaults(t, err, ": no character of its own")
	c, err := Parse([]byte("sasl.password=\U0001f600"))
	if err != nil || c.SASLPassword.Reveal() != "\U0001f600" {
		t.Error(err)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "producer.properties")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("bootstrap.servers=a:1,\\\n  b:2\nlinger.ms=7\nsasl.password=p\\\\w\n")
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err == nil || len(c.BootstrapServers) != 2 || c.SASLPassword.Reveal() != `p\w` {
		t.Errorf("%v %v", c, err)
	}
	if c.BatchBytes != Default().BatchBytes {
		t.Error("what is not in the file is not the default")
	}

	write("linger.ms=x")
	if _, err = Load(path); err == nil || !strings.HasPrefix(err.Error(), "config: "+path+":1: linger.ms = \"x\": ") {
		t.Errorf("got %v", err)
	}
	write(strings.Repeat("#", maxFile+1))
	if _, err = Load(path); err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("got %v", err)
	}
	write(strings.Repeat("#", maxFile))
	if _, err = Load(path); err != nil {
		t.Error(err)
	}
	if _, err = Load(path + "x"); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "config: open ") {
		t.Errorf("got %v", err)
	}
	if _, err = Load(filepath.Dir(path)); err == nil {
		t.Error("a directory was loaded")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "a=1", "linger.ms=5\nlinger.ms=6", "=x", "a\\\n b=\\u0041", "\ufeff#x\r\n!y\rz", "a=\\", "\\\n\\\n", "\xff=1",
		"bootstrap.servers=a:1,[::1]:2\nsasl.jaas.config=" + plainLogin + " required \\\n username=\"a\" password=\"b\";",
		"max.block.ms=-1\nbatch.size=99999999999999999999", "\\u=\\ud800", "\ufeff\ufeff=x", "\\\n#=1", "a=\\\n", "  \\\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			for _, f := range faultsOf(t, err) {
				if strings.ContainsAny(f.Error(), "\n\r") || f.Problem == "" || f.Origin == "" {
					t.Errorf("%q", f.Error())
				}
			}
		}
		if changed := changedFields(c, Config{}); err != nil && len(changed) > 0 {
			t.Errorf("with an error, %v is not zero", changed)
		}
		c.KeystoreLocation, c.TruststoreLocation = "", "" // the fuzzer shall open no files
		_ = c.Validate()
		_ = c.String()
	})
}

// Where a file has no backslash, reading it line by line gives what the library
// gives for the whole.
func FuzzLinesAgainstLibrary(f *testing.F) {
	for _, s := range []string{"a=1\nb 2\n#c\n\nd:3", "a\nb=\nc = = d\r\n  ! x", "a\fb\tc"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file string) {
		entries, faults := entriesOf(file, func(int) string { return "" })
		bad := slices.ContainsFunc(entries, func(e entry) bool { return e.problem != "" })
		if bad || len(faults) > 0 || strings.ContainsAny(file, "\\\ufeff") {
			return
		}
		loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
		whole, err := loader.LoadBytes([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		last := map[string]string{}
		for _, e := range entries {
			last[e.name] = e.value
		}
		if got := whole.Map(); !maps.Equal(got, last) {
			t.Errorf("library %q, here %q", got, last)
		}
	})
}

func FuzzFromMap(f *testing.F) {
	for _, p := range Properties() {
		f.Add(p.Name, p.Default, "client.id", "x")
		f.Add(p.Name, otherValues[p.Name], p.Name+"x", "")
	}
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		c, err := FromMap(map[string]string{name1: value1, name2: value2})
		if err != nil {
			faultsOf(t, err)
			return
		}
		// What was accepted is given back in a form that is accepted again.
		again := map[string]string{}
		for _, p := range table {
			if p.field != "" && p.name != "bootstrap.servers" {
				again[p.name] = p.kind.text(&c)
			}
		}
		back, err := FromMap(again)
		if err != nil {
			t.Fatal(err)
		}
		back.BootstrapServers = c.BootstrapServers
		if changed := changedFields(c, back); len(changed) > 0 {
			t.Errorf("%v came back changed", changed)
		}
	})
}
