package config

import (
	"strings"
	"testing"
	"time"
)

func TestBadValues(t *testing.T) {
	for _, tc := range []struct{ name, value, want string }{
		{"linger.ms", "-1", "must be from 0 to 2147483647 milliseconds"},
		{"linger.ms", "", "has no value, want a whole number of milliseconds"},
		{"linger.ms", "1.5", "is not a whole number of milliseconds"},
		{"linger.ms", "5x", "is not a whole number"},
		{"linger.ms", "5 6", "is not a whole number"},
		{"linger.ms", "0x10", "is not a whole number"},
		{"linger.ms", "1_000", "is not a whole number"},
		{"linger.ms", "٥", "is not a whole number"},
		{"linger.ms", "5s", "; write 5000, without a unit"},
		{"linger.ms", "-5s", "is not a whole number"},
		{"linger.ms", "5us", "is not a whole number"},
		{"linger.ms", "9223372036854775808", "is out of range"},
		{"linger.ms", "9223372036854775807", "must be from 0"},
		{"linger.ms", "2147483648", "must be from 0"},
		{"linger.ms", "18446744073710", "must be from 0"}, // 0.4 ms, were nanoseconds to wrap
		{"max.block.ms", "-2", "or -1 (config.Unbounded)"},
		{"max.block.ms", "9223372036854775807", "or -1"},
		{"request.timeout.ms", "0", "must be from 1"},
		{"delivery.timeout.ms", "0", "must be from 1"},
		{"socket.connection.setup.timeout.ms", "0", "must be from 1"},
		{"retry.backoff.ms", "0", "must be from 1"},
		{"retry.backoff.max.ms", "0", "must be from 1"},
		{"reconnect.backoff.ms", "0", "must be from 1"},
		{"reconnect.backoff.max.ms", "0", "must be from 1"},
		{"metadata.max.age.ms", "0", "must be from 1"},
		{"producer.id.expiration.ms", "0", "must be from 1"},
		{"batch.size", "0", "must be from 1 to 104857600 bytes"},
		{"batch.size", "104857601", "must be from 1"},
		{"batch.size", "64k", "is not a whole number of bytes"},
		{"max.request.size", "104857601", "must be from 1 to 104857600 bytes"},
		{"buffer.memory", "0", "must be at least 1 bytes"},
		{"max.in.flight.bytes", "-1", "must be at least 1 bytes"},
		{"max.in.flight.sequence.number.per.connection", "0", "must be from 1 to 1073741824"},
		{"max.in.flight.sequence.number.per.connection", "1073741825", "must be from 1 to 1073741824"},
		{"max.in.flight.sequence.number.per.connection", "4294967297", "must be from 1 to 1073741824"}, // 1 as int32
		{"max.in.flight.batches.per.partition", "-1", "must be from 0 to 2147483647 batches"},
		{"max.in.flight.batches.per.partition", "4294967296", "must be from 0"},
		{"compression.type", "brotli", "must be none, gzip, snappy, lz4 or zstd"},
		{"security.protocol", "TLS", "must be PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"},
		{"allow.auto.create.topics", "yes", "must be true or false"},
		{"partitioner.ignore.keys", "", "must be true or false"},
		{"client.id", strings.Repeat("x", 250), "longer than 249 bytes"},
		{"client.id", "a\x00b", "cannot be printed at byte 1"},
		{"client.id", "a\nb", "cannot be printed at byte 1"},
		{"client.id", "a\xff", "not valid UTF-8"},
		{"sasl.username", "a\x00b", "cannot be printed"},
		{"sasl.password", "a\x00b", "NUL"},
		{"sasl.password", "a\xff", "not valid UTF-8"},
		{"bootstrap.servers", "", "is required"},
	} {
		c, err := FromMap(map[string]string{tc.name: tc.value})
		wantFaults(t, err, tc.name+": "+tc.want)
		if changed := changedFields(c, Config{}); len(changed) > 0 {
			t.Errorf("%s: with an error, %v is not zero", tc.name, changed)
		}
	}
}

// What a property refuses, Validate refuses in the field.
func TestFieldsOutOfRange(t *testing.T) {
	c := Config{
		Linger:               -time.Second,
		MaxBlock:             -time.Millisecond,
		RequestTimeout:       1<<63 - 1,
		RetryBackoff:         500 * time.Microsecond,
		MaxInFlightSequences: 1<<30 + 1,
		MaxInFlightBatches:   -1,
		Compression:          5,
		SecurityProtocol:     -1,
		SASLMechanism:        99,
	}
	got := map[string]string{}
	for _, f := range faultsOf(t, c.Validate()) {
		got[f.Property] += f.Value
	}
	want := map[string]string{
		"bootstrap.servers": "", "linger.ms": "-1000", "max.block.ms": "-1ms",
		"batch.size": "0", "max.request.size": "0", "buffer.memory": "0", "max.in.flight.bytes": "0",
		"max.in.flight.sequence.number.per.connection": "1073741825", "max.in.flight.batches.per.partition": "-1",
		"request.timeout.ms": "2562047h47m16.854775807s", "delivery.timeout.ms": "0", "socket.connection.setup.timeout.ms": "0",
		"retry.backoff.ms": "500µs", "retry.backoff.max.ms": "0", "reconnect.backoff.ms": "0", "reconnect.backoff.max.ms": "0",
		"metadata.max.age.ms": "0", "metadata.max.idle.ms": "0", "producer.id.expiration.ms": "0", "connections.per.broker": "0",
		"compression.type": "(5)", "security.protocol": "(-1)", "sasl.mechanism": "(99)",
	}
	for name := range want {
		if v, ok := got[name]; !ok || v != want[name] {
			t.Errorf("%s: got %q (reported: %v), want %q", name, v, ok, want[name])
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is reported as well", name)
	}
}

func TestSpacesAroundValues(t *testing.T) {
	c, err := FromMap(map[string]string{
		"linger.ms": " 7\t", "compression.type": " gzip ", "partitioner.ignore.keys": " true",
		"client.id": " x ", "bootstrap.servers": " a:1 , b:2 ", "sasl.password": " p ",
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Linger != 7*time.Millisecond || c.Compression != CompressionGzip || !c.PartitionerIgnoreKeys || c.ClientID != "x" {
		t.Errorf("got %v", c)
	}
	if got := strings.Join(c.BootstrapServers, "|"); got != "a:1|b:2" {
		t.Errorf("got %q", got)
	}
	if c.SASLPassword.Reveal() != " p " {
		t.Error("the spaces of the password are gone")
	}
}

func TestLargestValues(t *testing.T) {
	c := valid()
	c.RequestTimeout, c.DeliveryTimeout, c.MaxBlock = maxMillis-c.Linger, maxMillis, Unbounded
	c.MaxInFlightSequences, c.MaxRequestBytes, c.BufferBytes = 1<<30, 100<<20, 1<<63-1
	c.MaxInFlightBytes = 1<<63 - 1
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}
