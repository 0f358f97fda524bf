package producer_test

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/testcert"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// TLS and SASL, from the properties a user writes to a written record.
func TestSecuredCluster(t *testing.T) {
	cert := testcert.New(t)
	c, err := producertest.New(producertest.Config{
		Topics: map[string]int32{"t": 1},
		TLS:    &tls.Config{Certificates: []tls.Certificate{cert.TLS}},
		Users:  map[string]string{"alice": "wonderland"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, tc := range []struct {
		name      string
		set       map[string]string
		wantError string
	}{
		{"PLAIN", map[string]string{"sasl.mechanism": "PLAIN", "sasl.password": "wonderland"}, ""},
		{"SCRAM-SHA-256", map[string]string{"sasl.mechanism": "SCRAM-SHA-256", "sasl.password": "wonderland"}, ""},
		{"wrong password", map[string]string{"sasl.mechanism": "PLAIN", "sasl.password": "looking-glass"}, "authentication failed"},
		{"unknown authority", map[string]string{
			"sasl.mechanism": "PLAIN", "sasl.password": "wonderland", "ssl.truststore.location": "",
		}, "certificate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := map[string]string{
				"bootstrap.servers": strings.Join(c.Addrs(), ","), "security.protocol": "SASL_SSL",
				"sasl.username": "alice", "ssl.truststore.location": cert.CA,
			}
			for k, v := range tc.set {
				m[k] = v
				if v == "" {
					delete(m, k)
				}
			}
			produceSecurely(t, m, tc.wantError)
		})
	}
}

func produceSecurely(t *testing.T, m map[string]string, wantError string) {
	t.Helper()
	cfg, err := config.FromMap(m)
	if err != nil {
		t.Fatal(err)
	}
	p, err := producer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Abort()
	if wantError != "" {
		err := p.Ping(t.Context()) // ends by itself
		if err == nil || !strings.Contains(err.Error(), wantError) || strings.Contains(err.Error(), "looking-glass") {
			t.Fatalf("want an error about %q without the password, got %v", wantError, err)
		}
		return
	}
	if _, err := p.ProduceSync(t.Context(), producer.Record{Topic: "t", Value: []byte("secret")}); err != nil {
		t.Fatal(err)
	}
}
