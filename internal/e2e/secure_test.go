package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/realkafka"
	"github.com/sluice-kafka/sluice/internal/testcert"
	"github.com/sluice-kafka/sluice/internal/verify"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// A broker that wants TLS and a login, by PLAIN or SCRAM.
func TestSecuredBroker(t *testing.T) {
	cert := testcert.New(t)
	k := realkafka.Start(t, realkafka.Config{
		Users: map[string]string{"alice": "wonderland"},
		Properties: map[string]string{
			"listener.security.protocol.map": "CLIENT:SASL_SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
			"sasl.enabled.mechanisms":        "PLAIN,SCRAM-SHA-256",
			"ssl.keystore.type":              "PEM",
			"ssl.keystore.location":          cert.All,
			"listener.name.client.plain.sasl.jaas.config": `org.apache.kafka.common.security.plain.PlainLoginModule required ` +
				`user_alice="wonderland";`,
			"listener.name.client.scram-sha-256.sasl.jaas.config": `org.apache.kafka.common.security.scram.ScramLoginModule required;`,
		},
	})
	properties := func(mechanism, password string) map[string]string {
		return map[string]string{
			"bootstrap.servers": strings.Join(k.Addrs(), ","), "security.protocol": "SASL_SSL",
			"ssl.truststore.location": cert.CA, "sasl.mechanism": mechanism,
			"sasl.username": "alice", "sasl.password": password,
		}
	}
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256"} {
		t.Run(mechanism, func(t *testing.T) {
			topic := fmt.Sprintf("secured-%s", strings.ToLower(mechanism))
			produceSecured(t, properties(mechanism, "wonderland"), topic, k.Addrs(), cert.CA)
		})
		t.Run(mechanism+" with a wrong password", func(t *testing.T) {
			p := secured(t, properties(mechanism, "looking-glass"))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := p.Ping(ctx)
			if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "authentication failed") {
				t.Fatalf("want a refusal, got %v", err)
			}
			t.Log(err)
		})
	}
}

func secured(t *testing.T, properties map[string]string) *producer.Producer {
	t.Helper()
	cfg, err := config.FromMap(properties)
	if err != nil {
		t.Fatal(err)
	}
	p, err := producer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Abort)
	return p
}

// produceSecured creates the topic by writing to it.
func produceSecured(t *testing.T, properties map[string]string, topic string, addrs []string, ca string) {
	t.Helper()
	p := secured(t, properties)
	log := verify.New(topic, 0)
	done := func(r producer.Result) { log.Note(r.Tag.(int), outcomes[r.Outcome], r.Partition, r.Offset) }
	for range 10_000 {
		value, number := log.Value(nil, 100)
		p.Produce(t.Context(), producer.Record{Topic: topic, Value: value, Tag: number}, done)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	verdict, err := log.Read(ctx, addrs, kgo.DialTLSConfig(&tls.Config{RootCAs: pool}),
		kgo.SASL(plain.Auth{User: "alice", Pass: "wonderland"}.AsMechanism()))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(verdict.String())
	if verdict.Faults() > 0 || verdict.Read != 10_000 {
		t.Error("not every record was written once and in order")
	}
}
