package producertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// certificate makes one for 127.0.0.1 and a pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLS(t *testing.T) {
	cert, pool := certificate(t)
	c := start(t, Config{Topics: map[string]int32{"t": 1}, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: pool}}
	k := newKgo(t, c, kgo.Dialer(dialer.DialContext),
		kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer k.Close()
	kgoProduce(t, k, "t", 100)
	want(t, "read back", len(kgoConsume(t, k, 100)), 100)

	plaintext := dial(t, c, 0)
	plaintext.send(apiVersionsRequest(3))
	if plaintext.end() == nil {
		t.Error("plaintext is answered on a TLS port")
	}
}

func TestSASL(t *testing.T) {
	users := map[string]string{"alice": "s3cret", "b=o,b": "pass"}
	for name, m := range map[string]sasl.Mechanism{
		"plain":       plain.Auth{User: "alice", Pass: "s3cret"}.AsMechanism(),
		"scram":       scram.Auth{User: "alice", Pass: "s3cret"}.AsSha256Mechanism(),
		"scram names": scram.Auth{User: "b=o,b", Pass: "pass"}.AsSha256Mechanism(),
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, Config{Topics: map[string]int32{"t": 1}, Users: users})
			k := newKgo(t, c, kgo.SASL(m))
			defer k.Close()
			kgoProduce(t, k, "t", 10)
		})
	}
	for name, m := range map[string]sasl.Mechanism{
		"plain, wrong":   plain.Auth{User: "alice", Pass: "other"}.AsMechanism(),
		"plain, unknown": plain.Auth{User: "eve", Pass: ""}.AsMechanism(),
		"scram, wrong":   scram.Auth{User: "alice", Pass: "other"}.AsSha256Mechanism(),
		"scram, unknown": scram.Auth{User: "eve", Pass: "s3cret"}.AsSha256Mechanism(),
		"scram 512":      scram.Auth{User: "alice", Pass: "s3cret"}.AsSha512Mechanism(),
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, Config{Topics: map[string]int32{"t": 1}, Users: users})
			k := newKgo(t, c, kgo.SASL(m))
			defer k.Close()
			if err := k.Ping(t.Context()); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestSASLIsNeeded(t *testing.T) {
	c := start(t, Config{Users: map[string]string{"alice": "s3cret"}})
	r := connect(t, c, 0) // ApiVersions may be asked before
	r.send(kmsg.NewPtrMetadataRequest())
	if r.end() == nil {
		t.Error("the connection lives")
	}
}

func TestSASLWithoutUsers(t *testing.T) {
	r := connect(t, start(t, Config{}), 0)
	q := kmsg.NewPtrSASLHandshakeRequest()
	q.Version, q.Mechanism = 1, "PLAIN"
	want(t, "code", r.ask(q).(*kmsg.SASLHandshakeResponse).ErrorCode, 34)
	a := kmsg.NewPtrSASLAuthenticateRequest()
	want(t, "code", r.ask(a).(*kmsg.SASLAuthenticateResponse).ErrorCode, 34)
}
