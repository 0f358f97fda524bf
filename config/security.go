package config

import (
	"crypto/tls"
	"errors"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// BuildTLS returns the TLS settings of a connection, or nil when the protocol
// uses no TLS. Versions below 1.2 are not offered. ServerName is left to the
// dialer, which knows the broker. PEM files are read anew by each call. The
// result belongs to the caller.
func (c *Config) BuildTLS() (*tls.Config, error) {
	if !c.SecurityProtocol.UsesTLS() {
		return nil, nil
	}
	if c.TLS != nil {
		t := c.TLS.Clone()
		t.MinVersion = max(t.MinVersion, tls.VersionTLS12)
		return t, nil
	}
	t, faults := c.tlsFromPEM()
	if len(faults) > 0 {
		return nil, join(faults)
	}
	return t, nil
}

// BuildSASL returns the mechanism to authenticate with, or nil when the protocol
// uses no SASL. It may be used by several connections at once.
func (c *Config) BuildSASL() (sasl.Mechanism, error) {
	if !c.SecurityProtocol.UsesSASL() {
		return nil, nil
	}
	if c.SASL != nil {
		return c.SASL, nil
	}
	user, pass := c.SASLUsername, c.SASLPassword.Reveal()
	switch c.SASLMechanism {
	case MechanismPlain:
		return plain.Auth{User: user, Pass: pass}.AsMechanism(), nil
	case MechanismSCRAMSHA256:
		return scram.Auth{User: user, Pass: pass}.AsSha256Mechanism(), nil
	case MechanismSCRAMSHA512:
		return scram.Auth{User: user, Pass: pass}.AsSha512Mechanism(), nil
	case MechanismUnset:
	}
	return nil, errors.New("config: sasl.mechanism is not set")
}

func (c *Config) tlsFaults() []*FieldError {
	if !c.SecurityProtocol.UsesTLS() {
		faults := c.unused("TLS", "ssl.truststore.location", "ssl.truststore.certificates",
			"ssl.keystore.location", "ssl.keystore.certificate.chain", "ssl.key.location", "ssl.keystore.key")
		if c.TLS != nil {
			faults = append(faults, c.unusedGo("TLS", "TLS"))
		}
		return faults
	}
	if c.TLS == nil {
		_, faults := c.tlsFromPEM()
		return faults
	}
	for _, version := range []uint16{c.TLS.MinVersion, c.TLS.MaxVersion} {
		if version != 0 && version < tls.VersionTLS12 {
			return []*FieldError{{Property: "TLS", Value: tls.VersionName(version),
				Problem: "MinVersion and MaxVersion must not be below TLS 1.2"}}
		}
	}
	return nil
}

func (c *Config) saslFaults() []*FieldError {
	if !c.SecurityProtocol.UsesSASL() {
		faults := c.unused("SASL", "sasl.mechanism", "sasl.username", "sasl.password")
		if c.SASL != nil {
			faults = append(faults, c.unusedGo("SASL", "SASL"))
		}
		return faults
	}
	if c.SASL != nil {
		return c.readableFaults("SASL", c.SASL.Name())
	}
	var faults []*FieldError
	for _, name := range []string{"sasl.mechanism", "sasl.username", "sasl.password"} {
		if lookup(name).kind.text(c) == "" {
			faults = append(faults, &FieldError{Property: name,
				Problem: "is required with security.protocol " + c.SecurityProtocol.String()})
		}
	}
	return append(faults, c.readableFaults("sasl.mechanism", c.SASLMechanism.String())...)
}

// readableFaults refuses to send a password or token that anyone on the way can
// read, unless that was asked for by name.
func (c *Config) readableFaults(property, mechanism string) []*FieldError {
	sendsSecret := strings.EqualFold(mechanism, "PLAIN") || strings.EqualFold(mechanism, "OAUTHBEARER")
	if !sendsSecret || c.SecurityProtocol.UsesTLS() || c.AllowPlaintextPasswords {
		return nil
	}
	return []*FieldError{{Property: property, Value: mechanism,
		Problem: "would send the secret itself over a connection without TLS: use SASL_SSL or SCRAM, or set sluice.allow.plaintext.passwords=true"}}
}

// unused finds settings that the security protocol leaves without effect: who
// sets an authority to trust, or a password, believes that it is used.
func (c *Config) unused(by string, names ...string) []*FieldError {
	var faults []*FieldError
	for _, name := range names {
		p := lookup(name)
		if value := p.kind.text(c); value != "" {
			faults = append(faults, p.fault(fault{value, c.unusedProblem(by)}))
		}
	}
	return faults
}

func (c *Config) unusedGo(field, by string) *FieldError {
	return &FieldError{Property: field, Problem: c.unusedProblem(by)}
}

func (c *Config) unusedProblem(by string) string {
	return "is set, but security.protocol " + c.SecurityProtocol.String() + " does not use " + by
}
