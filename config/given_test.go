package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStrict(t *testing.T) {
	const file = "retries=3\nlinger.ms=5\nacks=1\n"
	c, err := Parse([]byte(file))
	if err != nil || len(c.Warnings) != 2 {
		t.Fatalf("%v, %v", c.Warnings, err)
	}
	if got, want := c.Warnings[0].String(), "line 1: retries: has no effect"; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	c, err = Strict(Parse([]byte(file)))
	wantFaults(t, err, "retries: has no effect", "acks: has no effect")
	if changed := changedFields(c, Config{}); len(changed) > 0 || faultsOf(t, err)[1].Origin != "line 3" {
		t.Errorf("%v is not zero, or %v", changed, err)
	}
	_, err = Strict(Parse([]byte("linger.ms=x\nretries=3")))
	wantFaults(t, err, "linger.ms: whole number")
	if c, err = Strict(Parse([]byte("linger.ms=7\nacks=all"))); err != nil || c.Linger.Milliseconds() != 7 {
		t.Errorf("%v, %v", c, err)
	}
}

func TestWarningsAreCloned(t *testing.T) {
	c, err := Parse([]byte("retries=3"))
	if err != nil {
		t.Fatal(err)
	}
	clone := c.Clone()
	clone.Warnings[0].Property = "changed"
	if c.Warnings[0].Property != "retries" {
		t.Error("a change of the clone reached the original")
	}
}

func TestExplain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.properties")
	text := "metadata.broker.list=a:1\nlinger.ms=7\nbatch.size=1000\nretries=3\npartitioner=murmur2_random\n" +
		"sasl.jaas.config=" + plainLogin + " required username=\"alice\" password=\"" + canary + "\";\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	c.BatchBytes, c.SASL = 2000, leaky{canary}
	got := map[string]string{}
	for line := range strings.Lines(c.Explain()) {
		name, rest, _ := strings.Cut(line, " ")
		got[name] = strings.Join(strings.Fields(rest), " ")
	}
	for name, want := range map[string]string{
		"bootstrap.servers":  "a:1 " + path + ":1, as metadata.broker.list",
		"linger.ms":          "7 " + path + ":2",
		"batch.size":         "2000 set in Go",
		"request.timeout.ms": "30000 default",
		"sasl.username":      "alice " + path + ":6, as sasl.jaas.config",
		"sasl.password":      "[hidden] " + path + ":6, as sasl.jaas.config",
		"SASL":               "set set in Go",
		"ssl.key.location":   "default",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	if want := path + ":4: retries: has no effect"; !strings.HasPrefix(got["warning:"], want) {
		t.Errorf("warning %q", got["warning:"])
	}
	if strings.Contains(c.Explain(), canary) {
		t.Error("the password is shown")
	}
}

func TestFromEnv(t *testing.T) {
	t.Setenv("SLUICE_TEST_BOOTSTRAP_SERVERS", "a:1,b:2")
	t.Setenv("SLUICE_TEST_LINGER_MS", "7")
	t.Setenv("SLUICE_TEST_SASL_PASSWORD", " pw ")
	t.Setenv("SLUICE_TEST_RETRIES", "3")
	t.Setenv("OTHER_LINGER_MS", "x")
	c, err := FromEnv("SLUICE_TEST_")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.BootstrapServers) != 2 || c.Linger.Milliseconds() != 7 || c.SASLPassword.Reveal() != " pw " || c.BatchBytes != Default().BatchBytes {
		t.Errorf("got %v", c)
	}
	want := []Warning{{"retries", c.Warnings[0].Problem, "environment variable SLUICE_TEST_RETRIES"}}
	if !slices.Equal(c.Warnings, want) {
		t.Errorf("got %v", c.Warnings)
	}
}

func TestFromEnvFaults(t *testing.T) {
	_, err := fromEnviron("P_", []string{"P_LINGER_MS=x", "P_linger_ms=5", "P_LINGERMS=5", "P_" + canary + "=" + canary, "Q_X=1", "P_=", "junk"})
	wantFaults(t, err,
		": unknown property, whose name is not shown",
		"LINGERMS: did you mean linger.ms?",
		"linger.ms: is not a whole number",
		": unknown property, whose name is not shown",
		"linger.ms: was given before, at environment variable P_LINGER_MS")
	if got := faultsOf(t, err)[2].Origin; got != "environment variable P_LINGER_MS" {
		t.Errorf("origin %q", got)
	}
	if _, err := FromEnv(""); err == nil || !strings.Contains(err.Error(), "needs a prefix") {
		t.Errorf("got %v", err)
	}
}

// No two properties have the same name as variables.
func TestEnvNamesAreDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, p := range table {
		if first, twice := seen[envName(p.name)]; twice {
			t.Errorf("%s and %s", first, p.name)
		}
		seen[envName(p.name)] = p.name
	}
}

func TestZeroConfigSaysWhereToStart(t *testing.T) {
	for _, c := range []Config{{}, {BootstrapServers: []string{"a:1"}}, {BootstrapServers: []string{"a:1"}, Linger: 1, ClientID: "x"}} {
		err := c.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), "config: start from config.Default()") {
			t.Errorf("got %v", err)
		}
	}
	c := valid()
	c.RetryBackoff = 0
	wantFaults(t, c.Validate(), "retry.backoff.ms: must be from 1")
}
