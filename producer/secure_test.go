package producer_test

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/testcert"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
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

// A broker that repeats the password, in the answer to the login or to a record, gets
// it into no error and into no line of the log.
func TestBrokerRepeatsThePassword(t *testing.T) {
	const canary = "wonderland-canary"
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256"} {
		for _, refused := range []bool{true, false} {
			t.Run(fmt.Sprint(mechanism, refused), func(t *testing.T) {
				c := newCluster(t, producertest.Config{Topics: map[string]int32{"t": 1}, Users: map[string]string{"alice": canary}})
				c.OnResponse(func(r *producertest.Response) {
					said := "bad login: alice/" + canary
					if m, ok := r.Message.(*kmsg.SASLAuthenticateResponse); ok && refused {
						m.ErrorCode, m.ErrorMessage = 58, &said
					}
				})
				c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
					return producertest.Refuse(87).BadRecords("says "+canary, 0)
				})
				cfg, err := config.FromMap(map[string]string{
					"bootstrap.servers": strings.Join(c.Addrs(), ","), "security.protocol": "SASL_PLAINTEXT",
					"sluice.allow.plaintext.passwords": "true",
					"sasl.mechanism":                   mechanism, "sasl.username": "alice", "sasl.password": canary,
				})
				if err != nil {
					t.Fatal(err)
				}
				var logged strings.Builder
				var mu sync.Mutex
				cfg.Logger = lines(func(r slog.Record) {
					mu.Lock()
					defer mu.Unlock()
					r.Attrs(func(a slog.Attr) bool { fmt.Fprint(&logged, r.Message, a.Value); return true })
				}).logger()
				p, err := producer.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				ping := p.Ping(t.Context())
				ctx, cancel := contextFor(t, 10*time.Second)
				defer cancel()
				if refused {
					cancel()
				}
				_, produced := p.ProduceSync(ctx, producer.Record{Topic: "t", Value: []byte("v")})
				end(t, p)
				if refused == (ping == nil) || produced == nil {
					t.Errorf("ping: %v, produce: %v", ping, produced)
				}
				mu.Lock()
				defer mu.Unlock()
				if all := fmt.Sprint(ping, produced, logged.String()); strings.Contains(all, canary) {
					t.Errorf("the password is shown: %s", all)
				}
			})
		}
	}
}
