package config

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
)

// secretFile is a .properties file in which secrets got into the wrong place.
type secretFile struct {
	name, text string
	secrets    []string // no part of these may be seen anywhere
}

// secretFiles holds the forms in which people paste keys and passwords.
func secretFiles(t *testing.T) []secretFile {
	key := string(newIdentity(t, "x", nil).key)
	body := strings.Split(strings.TrimSpace(key), "\n")
	body = body[1 : len(body)-1]
	escaped := strings.ReplaceAll(key, "\n", `\n\`+"\n")
	var files []secretFile
	add := func(name, text string, secrets ...string) {
		files = append(files, secretFile{name, "bootstrap.servers=a:1\nsecurity.protocol=SSL\n" + text + "\nlinger.ms=x\n", secrets})
	}
	for _, property := range []string{"ssl.keystore.key", "ssl.key.pem", "ssl.keystore.location", "ssl.key.location", "ssl.ca.location", "ssl.keystore.certificate.chain",
		"ssl.truststore.certificates", "ssl.truststore.location", "ssl.keystore.kye", "my.private.pem", "client.id", "sasl.username", "linger.ms", "bootstrap.servers",
		"spring.kafka.ssl.key-store-key", "sasl.oauthbearer.assertion.private.key.pem", "KEY"} {
		add(property+" pasted", property+"="+key, body...)
		add(property+" pasted below", property+" =\n"+key, body...)
		add(property+" with CRLF", property+"="+strings.ReplaceAll(key, "\n", "\r\n"), body...)
		add(property+" escaped", property+"="+escaped, body...)
		add(property+" half escaped", property+"="+strings.Replace(escaped, `\n\`, "", 2), body...)
		add(property+" without its frame", property+"="+strings.Join(body, "\n"), body...)
	}
	jaas := func(name, text string) { add(name, text, canary, "hunter.two", "open sesame", "sesame") }
	jaas("broken after the module", "sasl.jaas.config="+plainLogin+" required\n  username=\"alice\"\n  password=\""+canary+"\";")
	jaas("broken before the password", "sasl.jaas.config="+plainLogin+" required username=\"alice\"\n"+canary+";")
	jaas("broken in the password", "sasl.jaas.config="+plainLogin+" required username=\"alice\" password=\"x\nhunter.two=y\nopen sesame\n"+canary+"\";")
	jaas("only dots", "sasl.jaas.config="+plainLogin+" required username=\"alice\" password=\"\n\nhunter.two\";")
	jaas("misspelt", "sasl.jass.config="+plainLogin+" required\nusername=alice\nhunter.two "+canary+"\n"+canary+" hunter.two")
	jaas("not known at all", "kafka.login.config="+plainLogin+" required\nhunter.two="+canary)
	jaas("key where a name belongs", "client.id=-----BEGIN PRIVATE KEY-----\nhunter.two")
	jaas("password below", "sasl.password=\nhunter.two\n"+canary)
	jaas("after an unreadable line", "= x\nhunter.two="+canary)
	jaas("unquoted", "sasl.jaas.config="+plainLogin+" required username=alice password="+canary+"=;")
	jaas("as a name", canary+"=hunter.two\nsasl.username=x\nhunter.two")
	jaas("in an address", "metadata.broker.list=SASL_SSL://alice:"+canary+"@a:1")
	jaas("schema registry", "basic.auth.user.info=alice:"+canary+"\nhunter.two\nschema.registry."+canary+"=x")
	jaas("of a store", "ssl.truststore.password="+canary+"\nssl.key.password=hunter.two\nssl.keystore.password=open sesame")
	jaas("OAUTHBEARER", "sasl.oauthbearer.client.credentials.client.secret="+canary+"\nsasl.oauthbearer.config=hunter.two")
	return files
}

// waysOut is everything by which a value can get in front of somebody.
func waysOut(v any) map[string]string {
	out := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		out[verb] = fmt.Sprintf(verb, v)
	}
	text, err := json.Marshal(v)
	out["json"] = fmt.Sprint(string(text), err)
	text, err = xml.Marshal(v)
	out["xml"] = fmt.Sprint(string(text), err)
	out["slog text"] = logged(v, func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) })
	out["slog json"] = logged(v, func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) })
	return out
}

// everything a user may look at after a file was read.
func everything(c Config, err error) map[string]any {
	all := map[string]any{"error": err, "config": c, "config pointer": &c, "explanation": c.Explain(), "warnings": c.Warnings, "validation": c.Validate()}
	_, all["TLS error"] = c.BuildTLS()
	_, all["strict error"] = Strict(c, err)
	for name, e := range maps.Clone(all) {
		joined, ok := e.(interface{ Unwrap() []error })
		if !ok {
			continue
		}
		for i, e := range joined.Unwrap() {
			if f, ok := errors.AsType[*FieldError](e); ok {
				all[fmt.Sprint(name, " ", i)], all[fmt.Sprint(name, " fields ", i)] = f, *f
			}
		}
	}
	return all
}

func wantHidden(t *testing.T, secrets []string, c Config, err error) {
	t.Helper()
	for what, v := range everything(c, err) {
		for how, s := range waysOut(v) {
			for _, secret := range secrets {
				if strings.Contains(s, secret) {
					t.Errorf("%s as %s shows %q: %.400s", what, how, secret, s)
					return
				}
			}
		}
	}
}

func TestNoSecretGetsOutOfAFile(t *testing.T) {
	for _, f := range secretFiles(t) {
		t.Run(f.name, func(t *testing.T) {
			c, err := Parse([]byte(f.text))
			wantHidden(t, f.secrets, c, err)
			c, err = Load(writeFile(t, []byte(f.text)))
			wantHidden(t, f.secrets, c, err)
			c, err = FromMap(lineByLine(f.text))
			wantHidden(t, f.secrets, c, err)
		})
	}
}

// lineByLine makes a map of a file without a thought for continuations.
func lineByLine(text string) map[string]string {
	m := map[string]string{}
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\\"), "=")
		m[name] = value
	}
	delete(m, "linger.ms")  // a fault, by which the rest is not shown
	delete(m, "hunter.two") // without the lines before it this looks like a name
	return m
}

// Whatever the property, a key in its place is not shown.
func TestNoKeyGetsOutOfAnyProperty(t *testing.T) {
	key := string(newIdentity(t, "x", nil).key)
	body := strings.Split(key, "\n")
	for _, p := range table {
		for _, value := range []string{key, body[1], strings.ReplaceAll(key, "\n", " ")} {
			for _, read := range []func() (Config, error){
				func() (Config, error) { return FromMap(map[string]string{p.name: value}) },
				func() (Config, error) { return fromEnviron("K_", []string{"K_" + envName(p.name) + "=" + value}) },
			} {
				c, err := read()
				s := fmt.Sprintf("%+v %v %s %+v", err, c.Explain(), c, c.Warnings)
				for _, f := range faultsOf(t, err) {
					s += fmt.Sprintf("%q", []string{f.Property, f.Value, f.Problem, f.Origin})
				}
				if strings.Contains(s, body[1]) {
					t.Fatalf("%s: %.400s", p.name, s)
				}
			}
		}
	}
}

// A Config made in Go, with secrets in every field that is text.
func TestNoSecretGetsOutOfGo(t *testing.T) {
	key := string(newIdentity(t, "x", nil).key)
	secrets := append(strings.Split(key, "\n")[1:2], canary)
	c := valid()
	c.SecurityProtocol, c.SASLPassword, c.SASL = ProtocolSASLSSL, NewSecret(canary), leaky{canary}
	c.BootstrapServers = []string{key, "u:" + canary + "@a:1"}
	c.ClientID, c.SASLUsername, c.TruststoreLocation, c.KeystoreLocation, c.KeyLocation = key, key, key, key, key
	wantHidden(t, secrets, c, nil)
	c.TruststoreLocation, c.KeystoreLocation, c.KeyLocation = "", "", ""
	c.TruststoreCertificates, c.KeystoreCertificates, c.KeystoreKey = key, key, NewSecret(key)
	wantHidden(t, secrets, c, nil)
}

// The key is in a file, and something is wrong with it.
func TestNoSecretGetsOutOfAPEMFile(t *testing.T) {
	id := newIdentity(t, "x", nil)
	secrets := strings.Split(string(id.key), "\n")[1:2]
	for _, content := range [][]byte{id.key, bytes.ReplaceAll(id.key, []byte("\n"), nil), id.key[30:], append(id.cert[:len(id.cert):len(id.cert)], id.key[:80]...)} {
		c := valid()
		c.SecurityProtocol = ProtocolSSL
		c.KeystoreLocation, c.TruststoreLocation = writeFile(t, content), writeFile(t, content)
		wantHidden(t, secrets, c, nil)
		if c.Validate() == nil {
			t.Error("accepted")
		}
	}
}

// What is hidden is reported all the same: in one fault, at its line, and with
// the property that it may belong to.
func TestLinesThatMayBelongToASecret(t *testing.T) {
	key := strings.TrimSpace(string(newIdentity(t, "x", nil).key))
	_, err := Parse([]byte("ssl.keystore.key=" + key + "\nlinger.msx=5\ngroup.x=1\nlinger.ms=5\ngroup.x=2\n"))
	wantFaults(t, err,
		"ssl.keystore.key: lines 2 to 5 are no known property, and not shown, as it may be part of a secret; a value goes on in the next line only after a backslash",
		"linger.msx: did you mean linger.ms?",
		": this line is no known property, and not shown",
		"group.x: unknown property")
	if got := faultsOf(t, err)[0].Origin; got != "line 2" {
		t.Errorf("at %s", got)
	}
	_, err = FromMap(map[string]string{"acks": "all", canary: canary})
	if want := "config: property 2 of 2 by name: unknown property, whose name is not shown, as it may be part of a secret"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNamesThatMayBeShown(t *testing.T) {
	for name, want := range map[string]bool{
		"linger.milliseconds": true, "my.setting": true, "my_setting-x": true, "http2.x": true,
		"setting": false, "Setting.X": false, "my setting": false, "-----BEGIN": false, "a.b=": false, "": false,
		"password.hunter": false, "pw.x": false, "token.abc": false, "x1.2.3.4": false, strings.Repeat("a", 21) + ".b": false,
		"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC": false, "abcdef+/": false,
	} {
		if got := isNameLike(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
