package config

import (
	"testing"
	"time"
)

func TestValidateReportsAllFaultsAtOnce(t *testing.T) {
	c := valid()
	c.BootstrapServers = []string{"a", "b:1", "c:0"}
	c.Linger = -time.Millisecond
	c.RetryBackoffMax = time.Millisecond
	c.SecurityProtocol = ProtocolSASLSSL
	c.TruststoreLocation = "testdata/absent.pem"
	wantFaults(t, c.Validate(),
		"bootstrap.servers: has no port",
		"bootstrap.servers: port from 1 to 65535",
		"linger.ms: must be from 0",
		"retry.backoff.max.ms: at least retry.backoff.ms",
		"ssl.truststore.location: cannot be read: no such file",
		"sasl.mechanism: required with security.protocol SASL_SSL",
		"sasl.username: required",
		"sasl.password: required")
}

// Each rule at its border: the first value is right, one less is not.
func TestRelations(t *testing.T) {
	for _, tc := range []struct {
		set  func(c *Config, less int)
		want string
	}{
		{func(c *Config, less int) { c.BatchBytes, c.MaxRequestBytes = 5000, 6024-less }, "max.request.size: at least batch.size + 1024"},
		{func(c *Config, less int) { c.BufferBytes = int64(c.BatchBytes - less) }, "buffer.memory: at least batch.size"},
		{func(c *Config, less int) { c.MaxInFlightBytes = int64(c.MaxRequestBytes - less) }, "max.in.flight.bytes: at least max.request.size"},
		{func(c *Config, less int) { c.DeliveryTimeout = c.Linger + c.RequestTimeout - time.Duration(less) }, "delivery.timeout.ms: at least linger.ms + request.timeout.ms"},
		{func(c *Config, less int) { c.RetryBackoffMax = c.RetryBackoff - time.Duration(less) }, "retry.backoff.max.ms: at least retry.backoff.ms"},
		{func(c *Config, less int) { c.ReconnectBackoffMax = c.ReconnectBackoff - time.Duration(less) }, "reconnect.backoff.max.ms: at least reconnect.backoff.ms"},
	} {
		c := valid()
		tc.set(&c, 0)
		if err := c.Validate(); err != nil {
			t.Errorf("at the border: %v", err)
		}
		tc.set(&c, 1)
		wantFaults(t, c.Validate(), tc.want)
	}
}

// A value out of its own range is one fault, not one for each rule it is part of.
func TestNoEchoOfFaults(t *testing.T) {
	c := valid()
	c.RequestTimeout = 1<<63 - 1
	wantFaults(t, c.Validate(), "request.timeout.ms: must be from")
	c = valid()
	c.BatchBytes = 1 << 30
	wantFaults(t, c.Validate(), "batch.size: must be from")
}
