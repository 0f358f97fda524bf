package config

import (
	"strings"
	"testing"
)

const (
	plainLogin = "org.apache.kafka.common.security.plain.PlainLoginModule"
	scramLogin = "org.apache.kafka.common.security.scram.ScramLoginModule"
)

func TestJAAS(t *testing.T) {
	for _, tc := range []struct{ text, user, pass string }{
		{plainLogin + ` required username="alice" password="pw";`, "alice", "pw"},
		{scramLogin + " REQUIRED\n\tpassword='p w'\n\tusername=alice-1 ; ", "alice-1", "p w"},
		{plainLogin + ` optional username = "a" password = "=;\"\\\'\x${y}";`, "a", `=;"\'x${y}`},
		{plainLogin + ` required username="a" password="\t\n";`, "a", "\t\n"},
		{plainLogin + ` required username="é" password="пароль";`, "é", "пароль"},
	} {
		c, err := FromMap(map[string]string{"sasl.jaas.config": tc.text})
		if err != nil {
			t.Error(err)
			continue
		}
		if c.SASLUsername != tc.user || c.SASLPassword.Reveal() != tc.pass {
			t.Errorf("%s: got %q, %q", tc.text, c.SASLUsername, c.SASLPassword.Reveal())
		}
		if c.SASLMechanism != MechanismUnset {
			t.Errorf("%s: set the mechanism", tc.text)
		}
	}
}

func TestBadJAAS(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "full name",
		"PlainLoginModule required": "full name",
		`com.sun.security.auth.module.Krb5LoginModule required;`: "full name",
		plainLogin: "required",
		plainLogin + ` username="a" password="b";`:                           "required",
		plainLogin + ` required username=`:                                   "properly quoted",
		plainLogin + ` required`:                                             "not of the form",
		plainLogin + ` required;`:                                            "needs the options",
		plainLogin + ` required username="a";`:                               "needs the options",
		plainLogin + ` required username="a" password="";`:                   "needs the options",
		plainLogin + ` required username="a" password="b"`:                   "not of the form",
		plainLogin + ` required username="a" password="b;`:                   "properly quoted",
		plainLogin + " required username=\"a\" password=\"b\n\";":            "properly quoted",
		plainLogin + ` required username="a" password="\101";`:               "properly quoted",
		plainLogin + ` required username="a" password="b\`:                   "properly quoted",
		plainLogin + ` required username="a" password=p@ss;`:                 "not of the form",
		plainLogin + ` required username="a" password=;`:                     "properly quoted",
		plainLogin + ` required username="a" password="b"c";`:                "not of the form",
		plainLogin + ` required username="a" password "b";`:                  "not of the form",
		plainLogin + ` required username="a" password="b" password="c";`:     "twice",
		plainLogin + ` required username="a" password="b" tokenauth="true";`: "other than username",
		plainLogin + ` required username="a" password="b"; ` + plainLogin:    "goes on after",
	} {
		_, err := FromMap(map[string]string{"sasl.jaas.config": text})
		wantFaults(t, err, "sasl.jaas.config: "+want)
	}
}

func TestJAASBesideOtherProperties(t *testing.T) {
	m := map[string]string{
		"sasl.jaas.config": plainLogin + ` required username="alice" password="` + canary + `";`,
		"sasl.mechanism":   "PLAIN",
	}
	if _, err := FromMap(m); err != nil {
		t.Error(err)
	}
	m["sasl.mechanism"] = "SCRAM-SHA-256"
	_, err := FromMap(m)
	wantFaults(t, err, "sasl.jaas.config: names PlainLoginModule, which does not fit sasl.mechanism SCRAM-SHA-256")
	m["sasl.username"], m["sasl.password"] = "bob", canary
	delete(m, "sasl.mechanism")
	_, err = FromMap(m)
	wantFaults(t, err, "sasl.jaas.config: sasl.username is given as well", "sasl.jaas.config: sasl.password is given as well")
	if strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
	_, err = FromMap(map[string]string{"sasl.mechanism": "PLAIN", "sasl.jaas.config": scramLogin + ` required username="a" password="b";`})
	wantFaults(t, err, "sasl.jaas.config: names ScramLoginModule")
}

// Wherever a quote or a word is missing, the text is not repeated.
func FuzzJAAS(f *testing.F) {
	f.Add(plainLogin+` required username="a" password="`, `";`)
	f.Add(plainLogin+` required username=`, ` password=b;`)
	f.Add(scramLogin+` required `, `="x";`)
	f.Add("", "")
	f.Add(plainLogin+` `, ` x`)
	f.Fuzz(func(t *testing.T, before, after string) {
		_, problem := parseJAAS(before + canary + after)
		if strings.Contains(problem, canary) {
			t.Error(problem)
		}
	})
}
