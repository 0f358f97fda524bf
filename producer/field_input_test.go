package producer_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// What the user sees when something is wrong from the beginning: the texts are
// part of the product, and are in the documentation. ADDR stands for addresses.

// serverCertificate makes a certificate for 127.0.0.1 that nobody has signed.
func serverCertificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// sees starts a producer for the address and says what Ping and a record that
// finds no way show. Slowly, it has the patience to wait for a first answer.
func sees(t *testing.T, addr string, slowly bool, change func(*config.Config)) (ping, record string) {
	t.Helper()
	cfg := config.Default()
	cfg.BootstrapServers = []string{addr}
	cfg.Linger, cfg.RequestTimeout, cfg.DeliveryTimeout = 0, 100*time.Millisecond, 200*time.Millisecond
	if change != nil {
		change(&cfg)
	}
	p, err := producer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	for patience := 200 * time.Millisecond; ; patience *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := p.Ping(ctx)
		cancel()
		if err != nil {
			ping = strings.ReplaceAll(err.Error(), addr, "ADDR")
		}
		if !slowly || patience > 10*time.Second || !strings.Contains(ping, "no broker has answered yet") {
			break
		}
	}
	if _, err := p.ProduceSync(t.Context(), producer.Record{Topic: "orders"}); err != nil {
		record = strings.ReplaceAll(err.Error(), addr, "ADDR")
		if !producer.SafeToResend(err) {
			t.Errorf("not safe to resend: %v", err)
		}
	}
	return ping, record
}

func compareText(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\n got: %s\nwant: %s", what, got, want)
	}
}

// K32: nothing listens there.
func TestUserSeesUnreachableBroker(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	ping, record := sees(t, addr, true, nil)
	compareText(t, "Ping", ping,
		`producer: ping: context deadline exceeded: conn: ADDR: dial: dial tcp ADDR: connect: connection refused`)
	compareText(t, "record", record,
		`producer: record for "orders" not written after 0 attempts: delivery timeout: conn: ADDR: dial: dial tcp ADDR: connect: connection refused`)
}

// tlsAlertServer answers plaintext as Java's TLS does: with an alert.
func tlsAlertServer(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 4096))
			c.Write([]byte{0x15, 3, 3, 0, 2, 2, 0x28})
			c.Close()
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return l
}

// K32: a plaintext client on a TLS port, of Java and of Go, which hangs up.
func TestK32UserSeesTLSPort(t *testing.T) {
	ping, record := sees(t, tlsAlertServer(t).Addr().String(), true, nil)
	const why = `conn: ADDR: ApiVersions: not a valid Kafka response: it looks like TLS: the port wants TLS, and this client speaks plaintext`
	compareText(t, "Ping", ping, `producer: ping: context deadline exceeded: `+why)
	compareText(t, "record", record, `producer: record for "orders" not written after 0 attempts: delivery timeout: `+why)

	c, err := producertest.New(producertest.Config{TLS: &tls.Config{Certificates: []tls.Certificate{serverCertificate(t)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ping, record = sees(t, c.Addrs()[0], true, nil)
	for what, got := range map[string]string{"Ping": ping, "record": record} {
		if !strings.Contains(got, ": conn: ADDR: ApiVersions: the peer hung up; perhaps the port wants TLS, or is no Kafka broker's: ") {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// K32: a TLS client on a plaintext port.
func TestK32UserSeesPlaintextPort(t *testing.T) {
	c, err := producertest.New(producertest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ping, record := sees(t, c.Addrs()[0], true, func(c *config.Config) { c.SecurityProtocol = config.ProtocolSSL })
	for what, got := range map[string]string{"Ping": ping, "record": record} {
		if !strings.Contains(got, ": conn: ADDR: tls handshake: the broker hung up; perhaps the port does not speak TLS: ") {
			t.Errorf("%s: %s", what, got)
		}
	}
}

// K32: a certificate that nobody trusts ends Ping at once.
func TestK32UserSeesUntrustedCertificate(t *testing.T) {
	c, err := producertest.New(producertest.Config{TLS: &tls.Config{Certificates: []tls.Certificate{serverCertificate(t)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ping, record := sees(t, c.Addrs()[0], true, func(c *config.Config) { c.SecurityProtocol = config.ProtocolSSL })
	const why = `conn: ADDR: tls handshake: tls: failed to verify certificate: x509: certificate signed by unknown authority`
	compareText(t, "Ping", ping, `producer: ping: `+why)
	compareText(t, "record", record, `producer: record for "orders" not written after 0 attempts: delivery timeout: `+why)
}

// K32: the port is a web server's. Some answer what is no HTTP, Go's waits for
// the end of the line.
func TestK32UserSeesHTTPServer(t *testing.T) {
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ReadHeaderTimeout = 50 * time.Millisecond
	s.Start()
	defer s.Close()
	ping, record := sees(t, s.Listener.Addr().String(), true, nil)
	for what, got := range map[string]string{"Ping": ping, "record": record} {
		if !strings.Contains(got, ": conn: ADDR: ApiVersions: ") {
			t.Errorf("%s: %s", what, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		r := newSpoiltRig(t, topics(1), func(c *producertest.Cluster) {
			c.OnResponse(func(resp *producertest.Response) { resp.Raw = []byte("HTTP/1.1 400 Bad Request\r\n\r\n") })
		}, nil)
		err := r.p.Ping(r.within(time.Second))
		compareText(t, "Ping", strings.ReplaceAll(err.Error(), r.c.Addrs()[0], "ADDR"),
			`producer: ping: context deadline exceeded: conn: ADDR: ApiVersions: not a valid Kafka response: it looks like HTTP: this port is not a Kafka broker's`)
	})
}

// The port accepts and is silent: until the first attempt to connect has timed
// out, this is all there is to say.
func TestUserSeesSilentPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ping, record := sees(t, l.Addr().String(), false, nil)
	compareText(t, "Ping", ping, `producer: ping: context deadline exceeded: no broker has answered yet`)
	compareText(t, "record", record, `producer: record for "orders" not written after 0 attempts: delivery timeout: no broker has answered yet`)
	ping, record = sees(t, l.Addr().String(), true, func(c *config.Config) { c.DialTimeout = 100 * time.Millisecond })
	const why = `conn: ADDR: ApiVersions: not done within 100ms: context deadline exceeded`
	compareText(t, "Ping", ping, `producer: ping: `+why)
	compareText(t, "record", record, `producer: record for "orders" not written after 0 attempts: delivery timeout: `+why)
}

// K32: sizes that cannot be: nothing of that size is allocated, the error says
// what came.
func TestK32UserSeesImpossibleSizes(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"huge":     {"\x7f\xff\xff\xff\x00\x00", "a size of 2147483647 bytes is over the limit of "},
		"negative": {"\xff\xff\xff\xff\x00\x00", "a size of -1 bytes is not possible"},
		"small":    {"\x00\x00\x00\x03\x00\x00", "a size of 3 bytes is not possible"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newSpoiltRig(t, topics(1), func(cl *producertest.Cluster) {
					cl.OnResponse(func(resp *producertest.Response) { resp.Raw = []byte(c.answer) })
				}, nil)
				if err := r.p.Ping(r.within(time.Second)); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// K32: the same in the middle of a connection for records: what was asked is in
// doubt, and is settled on the next one.
func TestK32GarbageInMidstream(t *testing.T) {
	for name, raw := range map[string]string{"tls": "\x15\x03\x03\x00\x02\x02\x28", "http": "HTTP/1.1 400 Bad Request\r\n\r\n", "zeros": "\x00\x00\x00\x00", "huge": "\x7f\xff\xff\xff"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, topics(1), func(c *config.Config) { c.BatchBytes, c.Linger = 300, 0 })
				r.sync(t.Context(), producer.Record{}, 10)
				n := 0
				r.c.OnResponse(func(resp *producertest.Response) {
					if resp.Request.Key() == 0 {
						if n++; n == 5 {
							resp.Raw = []byte(raw)
						}
					}
				})
				for range 200 {
					r.produce(t.Context(), producer.Record{}, 20)
				}
				if sum := r.judge(); sum.written != 201 {
					t.Errorf("%+v %v", sum, r.firstError())
				}
			})
		})
	}
}

// A login that is refused ends Ping at once.
func TestUserSeesWrongPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, mechanism := range []config.SASLMechanism{config.MechanismPlain, config.MechanismSCRAMSHA256} {
			c, err := producertest.New(producertest.Config{InMemory: true, Users: map[string]string{"app": "right"}})
			if err != nil {
				t.Fatal(err)
			}
			ping, record := sees(t, c.Addrs()[0], true, func(cfg *config.Config) {
				cfg.Dialer = c.Dial
				cfg.SecurityProtocol, cfg.SASLMechanism = config.ProtocolSASLPlaintext, mechanism
				cfg.AllowPlaintextPasswords = true
				cfg.SASLUsername, cfg.SASLPassword = "app", config.NewSecret("canary")
			})
			for what, got := range map[string]string{"Ping": ping, "record": record} {
				if !strings.Contains(got, "conn: ADDR: SASLAuthenticate: authentication failed: SASL_AUTHENTICATION_FAILED") || strings.Contains(got, "canary") {
					t.Errorf("%v: %s: %s", mechanism, what, got)
				}
			}
			if !strings.HasPrefix(ping, "producer: ping: conn: ") {
				t.Errorf("%v: ping waited: %s", mechanism, ping)
			}
			c.Close()
		}
	})
}

// A client without a login on a port that wants one.
func TestUserSeesThatALoginIsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := producertest.New(producertest.Config{InMemory: true, Users: map[string]string{"app": "right"}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ping, record := sees(t, c.Addrs()[0], true, func(cfg *config.Config) { cfg.Dialer = c.Dial })
		const why = `conn: ADDR: Metadata: the broker hung up; perhaps the port wants a login (SASL): connection reset by peer`
		compareText(t, "Ping", ping, `producer: ping: context deadline exceeded: `+why)
		compareText(t, "record", record, `producer: record for "orders" not written after 0 attempts: delivery timeout: `+why)
	})
}

// A topic that does not exist and is not created.
func TestUserSeesUnknownTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		_, err := r.sync(t.Context(), producer.Record{Topic: "orders"}, 10)
		compareText(t, "unknown topic", err.Error(),
			`producer: record for "orders" not written after 0 attempts: UNKNOWN_TOPIC_OR_PARTITION (3): the broker does not have this topic or partition`)
		_, err = r.sync(t.Context(), producer.Record{Topic: "or ders"}, 10)
		compareText(t, "bad name", err.Error(),
			`producer: record for "or ders" not written after 0 attempts: INVALID_TOPIC_EXCEPTION (17): the topic name is not allowed`)
		_, err = r.sync(t.Context(), producer.Record{Partition: producer.On(7)}, 10)
		compareText(t, "partition", err.Error(),
			`producer: record for "t" partition 7 not written after 0 attempts: unknown partition: "t" has 1 partitions`)
		err = r.try(producer.Record{Partition: producer.On(-1)}, 10)
		compareText(t, "negative partition", err.Error(),
			`producer: record for "t" not written after 0 attempts: unknown partition: a negative number`)
	})
}

// A record that is too large, for the client and for the broker.
func TestUserSeesRecordTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.MaxMessageBytes = 1000
		r := newRig(t, cc, nil)
		err := r.p.TryProduce(producer.Record{Topic: "t", Value: make([]byte, 9<<20)}, nil)
		if !errors.Is(err, producer.ErrRecordTooLarge) {
			t.Error(err)
		}
		compareText(t, "for the client", err.Error(),
			`producer: record for "t" not written after 0 attempts: record is too large: 9437258 bytes as a batch, a request takes 8388551 (max.request.size) and the buffer 67108864 (buffer.memory)`)
		_, err = r.sync(t.Context(), producer.Record{}, 2000)
		compareText(t, "for the broker", err.Error(),
			`producer: record for "t" partition 0 not written after 1 attempts: record is too large: MESSAGE_TOO_LARGE (10): the batch is larger than the topic's max.message.bytes`)
		r.judge()
	})
}

// Wrong settings: all of them are reported at once, with the nearest name.
func TestUserSeesWrongProperties(t *testing.T) {
	_, err := config.FromMap(map[string]string{
		"bootstrap.server": "localhost:9092",
		"linger.ms":        "soon",
		"acks":             "2",
		"batch.size":       "-5",
	})
	if err == nil {
		t.Fatal("no error")
	}
	t.Log("\n" + err.Error())
	for _, want := range []string{"bootstrap.servers", "linger.ms", "soon", "acks", "batch.size", "-5"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in the error", want)
		}
	}
	if _, err := producer.New(config.Default()); err == nil || !strings.Contains(err.Error(), "bootstrap.servers") {
		t.Errorf("%v", err)
	} else {
		t.Log(err)
	}
}
