package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// wild holds for each file under testdata/wild, written in the manner of what
// vendors and other clients have, the properties that must get a warning, or those
// that must be refused, in order.
var wild = map[string]struct {
	warned, refused []string
	check           func(c *Config) bool
}{
	"confluent-cloud": {
		warned: []string{"session.timeout.ms", "schema.registry.*", "basic.auth.credentials.source", "basic.auth.user.info"},
		check: func(c *Config) bool {
			return c.SASLMechanism == MechanismPlain && c.SASLUsername == "WILDUSER" && c.SASLPassword.Reveal() == canary
		}},
	"msk-scram": {
		check: func(c *Config) bool {
			return len(c.BootstrapServers) == 2 && c.SASLMechanism == MechanismSCRAMSHA512 && c.SASLPassword.Reveal() == canary
		}},
	"strimzi-tls": {
		refused: []string{"ssl.truststore.password", "ssl.truststore.type", "ssl.keystore.password", "ssl.keystore.type"}},
	"redpanda": {
		warned: []string{"compression.lz4.level", "retries"},
		check:  func(c *Config) bool { return c.Compression == CompressionLZ4 }},
	"aiven": {
		warned: []string{"partitioner"},
		check: func(c *Config) bool {
			return c.TruststoreLocation == "ca.pem" && c.KeystoreLocation == "service.cert" && c.KeyLocation == "service.key"
		}},
	"java": {
		warned: []string{"key.serializer", "max.in.flight.requests.per.connection", "send.buffer.bytes", "connections.max.idle.ms", "metrics.recording.level"},
		check: func(c *Config) bool {
			return c.ClientID == "order-service" && c.DeliveryTimeout == 3*time.Minute && c.BufferBytes == 32<<20
		}},
	"librdkafka": {
		warned: []string{"queue.buffering.max.messages", "queue.buffering.max.ms", "message.send.max.retries", "batch.num.messages",
			"statistics.interval.ms", "log_level", "partitioner"},
		check: func(c *Config) bool {
			return c.BufferBytes == 64<<20 && c.Linger == time.Millisecond && c.DeliveryTimeout == time.Minute && c.RequestTimeout == 20*time.Second &&
				c.MaxRequestBytes == 1_000_000 && c.Compression == CompressionSnappy && c.MetadataMaxAge == time.Minute &&
				c.SASLMechanism == MechanismSCRAMSHA256 && c.TruststoreLocation == "" && len(c.BootstrapServers) == 2
		}},
	"spring": {
		warned: []string{"spring.kafka.producer.acks", "spring.kafka.producer.key-serializer", "spring.kafka.consumer.*", "spring.kafka.listener.*"},
		check: func(c *Config) bool {
			return c.BatchBytes == 64<<10 && c.Linger == 20*time.Millisecond && c.TruststoreLocation == "/etc/orders/ca.pem" && c.SASLUsername == "alice"
		}},
}

func TestFilesAsTheyAreFound(t *testing.T) {
	files, err := filepath.Glob("testdata/wild/*.properties")
	if err != nil || len(files) != len(wild) {
		t.Fatalf("%d files for %d cases, %v", len(files), len(wild), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".properties")
		t.Run(name, func(t *testing.T) {
			want := wild[name]
			c, err := Load(file)
			var refused, warned []string
			for _, f := range faultsOf(t, err) {
				refused = append(refused, f.Property)
			}
			for _, w := range c.Warnings {
				warned = append(warned, w.Property)
				if !strings.HasPrefix(w.Origin, file+":") {
					t.Errorf("%s: origin %q", w.Property, w.Origin)
				}
			}
			if !slices.Equal(refused, want.refused) {
				t.Errorf("refused %v, want %v:\n%v", refused, want.refused, err)
			}
			if !slices.Equal(warned, want.warned) {
				t.Errorf("warned of %v, want %v", warned, want.warned)
			}
			if err == nil && !want.check(&c) {
				t.Errorf("read as\n%s", c.Explain())
			}
			c.TruststoreLocation, c.KeystoreLocation, c.KeyLocation = "", "", "" // there are none here
			if err == nil && c.Validate() != nil {
				t.Error(c.Validate())
			}
			wantNoCanary(t, "config", c)
			wantNoCanary(t, "error", err)
			wantNoCanary(t, "explanation", c.Explain())
			wantNoCanary(t, "warnings", c.Warnings)
			if _, err := Strict(Load(file)); (err == nil) != (len(want.warned)+len(want.refused) == 0) {
				t.Errorf("strictly: %v", err)
			}
		})
	}
}
