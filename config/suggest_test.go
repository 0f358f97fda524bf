package config

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	for unknown, want := range map[string]string{
		"lingerms":                 "linger.ms",
		"linger":                   "linger.ms",
		"LINGER_MS":                "linger.ms",
		" linger.ms ":              "linger.ms",
		"batch.sizes":              "batch.size",
		"bootstrap.server":         "bootstrap.servers",
		"sasl.pasword":             "sasl.password",
		"sasl.mechanismus":         "sasl.mechanisms",
		"max.inflight.bytes":       "max.in.flight.bytes",
		"retry.backoff":            "retry.backoff.ms",
		"ssl.truststore.locations": "ssl.truststore.location",
		"groupid":                  "group.id",
		"x":                        "",
		"":                         "",
		"metadata.brokers.list":    "metadata.broker.list",
		strings.Repeat("x", 1<<20): "",
		"key.serialiser":           "key.serializer",
		"sslca":                    "", // ssl_ca cannot be set
		"linger.s":                 "", // another unit
		"linger.us":                "",
		"min.block.ms":             "", // another bound
		"disable.idempotence":      "",
		"sesion.timeout.ms":        "session.timeout.ms",
		"connect.timeout.ms":       "", // another meaning each
		"write.timeout.ms":         "",
		"poll.timeout.ms":          "",
		"timeout":                  "timeout.ms",
		"compression":              "compression.type",
		"batch.bytes":              "",
	} {
		if got := nearest(unknown); got != want {
			t.Errorf("%.40q: got %q, want %q", unknown, got, want)
		}
	}
}

// Two names that are as near and mean two things: neither is offered.
func TestNoGuessBetweenTwo(t *testing.T) {
	for unknown, want := range map[string]string{
		"ssl.cal.location":                     "", // ssl.ca.location and ssl.crl.location, one letter each
		"ssl.crll.location":                    "ssl.crl.location",
		"sasl.oauthbearer.assertion.claim.aub": "", // ...aud and ...sub
	} {
		if got := nearest(unknown); got != want {
			t.Errorf("%s: got %q, want %q", unknown, got, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0},
		{"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"ab", "ba", 2},
	} {
		if got := editDistance(tc.a, tc.b); got != tc.want {
			t.Errorf("%q, %q: got %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestUnknownPropertyNeverShowsItsValue(t *testing.T) {
	_, err := FromMap(map[string]string{"sasl.pasword": canary, "group.idea.x": canary})
	wantFaults(t, err, "group.idea.x: unknown property", "sasl.pasword: unknown property; did you mean sasl.password?")
	if strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
}
