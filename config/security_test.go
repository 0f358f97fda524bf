package config

import (
	"bytes"
	"context"
	"crypto/tls"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/sasl"
)

func TestSettingsWithoutEffect(t *testing.T) {
	c := valid()
	c.TruststoreLocation, c.KeystoreLocation, c.TruststoreCertificates = "a", "b", "c"
	c.SASLMechanism, c.SASLUsername, c.SASLPassword = MechanismPlain, "u", NewSecret(canary)
	c.TLS, c.SASL = &tls.Config{}, leaky{}
	wantFaults(t, c.Validate(),
		"ssl.truststore.location: security.protocol PLAINTEXT does not use TLS",
		"ssl.truststore.certificates: does not use TLS",
		"ssl.keystore.location: does not use TLS",
		"TLS: does not use TLS",
		"sasl.mechanism: security.protocol PLAINTEXT does not use SASL",
		"sasl.username: does not use SASL",
		"sasl.password: does not use SASL",
		"SASL: does not use SASL")

	c = valid()
	c.SecurityProtocol, c.SASLUsername = ProtocolSSL, "u"
	wantFaults(t, c.Validate(), "sasl.username: security.protocol SSL does not use SASL")
	c = valid()
	c.SecurityProtocol, c.TLS, c.SASL = ProtocolSASLPlaintext, &tls.Config{}, leaky{}
	wantFaults(t, c.Validate(), "TLS: security.protocol SASL_PLAINTEXT does not use TLS")
}

func TestNoReadablePasswords(t *testing.T) {
	c := valid()
	c.SecurityProtocol, c.SASLUsername, c.SASLPassword = ProtocolSASLPlaintext, "u", NewSecret("p")
	for mechanism, readable := range map[SASLMechanism]bool{MechanismPlain: true, MechanismSCRAMSHA256: false, MechanismSCRAMSHA512: false} {
		c.SASLMechanism = mechanism
		var want []string
		if readable {
			want = []string{"sasl.mechanism: sluice.allow.plaintext.passwords=true"}
		}
		wantFaults(t, c.Validate(), want...)
	}
	c.SASLMechanism = MechanismPlain
	c.AllowPlaintextPasswords = true
	wantFaults(t, c.Validate())
	c.AllowPlaintextPasswords, c.SecurityProtocol = false, ProtocolSASLSSL
	wantFaults(t, c.Validate())

	// A mechanism of the user's own is known by its name.
	mechanism, err := c.BuildSASL()
	if err != nil {
		t.Fatal(err)
	}
	own := valid()
	own.SecurityProtocol, own.SASL = ProtocolSASLPlaintext, mechanism
	wantFaults(t, own.Validate(), "SASL: sluice.allow.plaintext.passwords=true")
	own.SASL = named{"OAUTHBEARER"}
	wantFaults(t, own.Validate(), "SASL: sluice.allow.plaintext.passwords=true")
	own.SASL = named{"SCRAM-SHA-256"}
	wantFaults(t, own.Validate())
}

type named struct{ name string }

func (n named) Name() string { return n.name }

func (named) Authenticate(context.Context, string) (sasl.Session, []byte, error) {
	return nil, nil, nil
}

func TestSASLNeedsItsSettings(t *testing.T) {
	c := valid()
	c.SecurityProtocol = ProtocolSASLSSL
	wantFaults(t, c.Validate(), "sasl.mechanism: required", "sasl.username: required", "sasl.password: required")
	if _, err := c.BuildSASL(); err == nil || !strings.Contains(err.Error(), "sasl.mechanism is not set") {
		t.Errorf("got %v", err)
	}
	c.SASL = leaky{}
	wantFaults(t, c.Validate())
}

func TestBuildSASL(t *testing.T) {
	c := valid()
	for _, p := range []SecurityProtocol{ProtocolPlaintext, ProtocolSSL} {
		c.SecurityProtocol = p
		if m, err := c.BuildSASL(); m != nil || err != nil {
			t.Errorf("%v: %v, %v", p, m, err)
		}
	}
	c.SecurityProtocol, c.SASLUsername, c.SASLPassword = ProtocolSASLSSL, "alice", NewSecret(canary)
	for mechanism, want := range map[SASLMechanism]string{
		MechanismPlain: "\x00alice\x00" + canary, MechanismSCRAMSHA256: "n,,n=alice,r=", MechanismSCRAMSHA512: "n,,n=alice,r=",
	} {
		c.SASLMechanism = mechanism
		m, err := c.BuildSASL()
		if err != nil {
			t.Fatal(err)
		}
		_, first, err := m.Authenticate(t.Context(), "broker:9092")
		if err != nil || m.Name() != mechanism.String() || !bytes.HasPrefix(first, []byte(want)) {
			t.Errorf("%v: name %s, first message %q, %v", mechanism, m.Name(), first, err)
		}
		wantNoCanary(t, "mechanism", m)
	}
	c.SASL = leaky{}
	if m, err := c.BuildSASL(); m != c.SASL || err != nil {
		t.Errorf("SASL does not override: %v, %v", m, err)
	}
}

func TestTLSOverride(t *testing.T) {
	c := valid()
	c.SecurityProtocol = ProtocolSSL
	c.TruststoreLocation = "absent" // overridden
	c.TLS = &tls.Config{ServerName: "name"}
	wantFaults(t, c.Validate())
	got, err := c.BuildTLS()
	if err != nil || got == c.TLS || got.ServerName != "name" || got.MinVersion != tls.VersionTLS12 {
		t.Errorf("got %+v, %v", got, err)
	}
	if c.TLS.MinVersion != 0 {
		t.Error("the user's value was changed")
	}
	c.TLS.MinVersion = tls.VersionTLS13
	if got, err = c.BuildTLS(); err != nil || got.MinVersion != tls.VersionTLS13 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, old := range []*tls.Config{{MinVersion: tls.VersionTLS11}, {MaxVersion: tls.VersionTLS10}} {
		c.TLS = old
		wantFaults(t, c.Validate(), "TLS: below TLS 1.2")
	}
}
