package producer_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// selfSigned returns a certificate for 127.0.0.1 and a PEM file that trusts it.
func selfSigned(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, path
}

// TLS and SASL, from the properties a user writes to a written record.
func TestSecuredCluster(t *testing.T) {
	cert, ca := selfSigned(t)
	c, err := producertest.New(producertest.Config{
		Topics: map[string]int32{"t": 1},
		TLS:    &tls.Config{Certificates: []tls.Certificate{cert}},
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
				"sasl.username": "alice", "ssl.truststore.location": ca,
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
