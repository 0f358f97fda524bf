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
		"batch.bytes":              "batch.size",
		"bootstrap.server":         "bootstrap.servers",
		"compression":              "compression.type",
		"sasl.pasword":             "sasl.password",
		"sasl.mechanisms":          "sasl.mechanism",
		"max.inflight.bytes":       "max.in.flight.bytes",
		"retry.backoff":            "retry.backoff.ms",
		"ssl.truststore.locations": "ssl.truststore.location",
		"group.id":                 "",
		"x":                        "",
		"":                         "",
		"metadata.broker.list":     "",
		strings.Repeat("x", 1<<20): "",
		"key.serialiser":           "", // close only to what cannot be set
	} {
		if got := nearest(unknown); got != want {
			t.Errorf("%.40q: got %q, want %q", unknown, got, want)
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
	_, err := FromMap(map[string]string{"sasl.pasword": canary, "group.id": canary})
	wantFaults(t, err, "group.id: unknown property", "sasl.pasword: unknown property; did you mean sasl.password?")
	if strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
}
