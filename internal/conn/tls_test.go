package conn

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// authority is a CA made for one test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, key: newKey(t)}
	a.cert = a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	template.SerialNumber = big.NewInt(1)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// server is a configuration with a certificate for localhost and 127.0.0.1.
func (a *authority) server() *tls.Config {
	key := newKey(a.t)
	cert := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "broker"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, a.cert, key)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}}
}

// serve runs script for each connection to a real port, and returns that port.
func serve(t *testing.T, wrap func(net.Conn) net.Conn, script func(*peer)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	t.Cleanup(func() { l.Close(); served.Wait() })
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer c.Close()
				script(&peer{t, wrap(c)})
			})
		}
	})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func overTLS(config *tls.Config) func(net.Conn) net.Conn {
	return func(c net.Conn) net.Conn { return tls.Server(c, config) }
}

func plaintext(c net.Conn) net.Conn { return c }

// echo answers every request and ends with the client.
func echo(p *peer) {
	for r := p.read(); r != nil; r = p.read() {
		resp := r.ResponseKind()
		if r.Key() == apiVersionsKey {
			resp = versionsResponse(r.GetVersion())
		}
		p.answer(r, resp)
	}
}

func TestTLS(t *testing.T) {
	ca := newAuthority(t)
	var mu sync.Mutex
	var names []string
	config := ca.server()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, hello.ServerName)
		return nil, nil
	}
	port := serve(t, overTLS(config), echo)
	for _, test := range []struct {
		host, serverName string
		version          uint16
	}{
		{"127.0.0.1", "", tls.VersionTLS13},
		{"127.0.0.1", "localhost", tls.VersionTLS13},
		{"localhost", "", tls.VersionTLS12},
	} {
		o := Options{TLS: &tls.Config{RootCAs: ca.pool(), ServerName: test.serverName, MaxVersion: test.version}}
		c, err := Dial(context.Background(), test.host+":"+port, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest()); err != nil {
			t.Error(err)
		}
		if c.out.vectored {
			t.Error("TLS written piece by piece")
		}
		c.Close()
	}
	// A name is sent whenever there is one, for routers that go by it (K71).
	if got := strings.Join(names, ","); got != ",localhost,localhost" {
		t.Errorf("names sent: %q", got)
	}
}

func TestTLSRefusals(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	good := ca.server()
	old := ca.server()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	for _, test := range []struct {
		name   string
		server func(net.Conn) net.Conn
		client *tls.Config
		want   string
	}{
		{"unknown authority", overTLS(good), &tls.Config{RootCAs: stranger.pool()}, "unknown authority"},
		{"other host", overTLS(good), &tls.Config{RootCAs: ca.pool(), ServerName: "broker.example"}, "broker.example"},
		// Even if the configuration allows it.
		{"TLS 1.1", overTLS(old), &tls.Config{RootCAs: ca.pool(), MinVersion: tls.VersionTLS10}, "protocol version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			port := serve(t, test.server, echo)
			_, err := Dial(context.Background(), "127.0.0.1:"+port, Options{TLS: test.client})
			var e *Error
			if !errors.As(err, &e) || e.Op != "tls handshake" || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// Nothing is done in plaintext when TLS was asked for.
func TestPlaintextPort(t *testing.T) {
	talks := func(p *peer) { p.send([]byte("\x00\x00\x00\x0aplaintext!")); p.gone() }
	hangsUp := func(p *peer) { io.ReadFull(p, make([]byte, 5)); p.Conn.(*net.TCPConn).CloseWrite(); p.gone() }
	for name, script := range map[string]func(*peer){"talks": talks, "hangs up": hangsUp} {
		port := serve(t, plaintext, script)
		_, err := Dial(context.Background(), "127.0.0.1:"+port, Options{TLS: &tls.Config{}})
		var e *Error
		if !errors.As(err, &e) || e.Op != "tls handshake" || !strings.Contains(err.Error(), "does not speak TLS") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// K32: a plaintext client on a TLS port is told so, whether the broker sends
// an alert, as Kafka does, or just hangs up.
func TestTLSPortInPlaintext(t *testing.T) {
	alert := func(p *peer) { p.read(); p.send([]byte("\x15\x03\x03\x00\x02\x02\x50")) }
	for name, port := range map[string]string{
		"alert":    serve(t, plaintext, alert),
		"hangs up": serve(t, overTLS(newAuthority(t).server()), echo),
	} {
		_, err := Dial(context.Background(), "127.0.0.1:"+port, Options{})
		var e *Error
		if !errors.As(err, &e) || e.Op != versionsOp || !strings.Contains(err.Error(), "port wants TLS") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Abandon resets the transport below TLS as well, and does not wait to say
// goodbye.
func TestAbandonUnderTLS(t *testing.T) {
	ca := newAuthority(t)
	ended := make(chan error, 1)
	var transport net.Conn
	port := serve(t, func(c net.Conn) net.Conn {
		transport = c
		return tls.Server(c, ca.server())
	}, func(p *peer) {
		p.hello()
		_, err := io.Copy(io.Discard, transport) // sees the end as it is, not as TLS puts it
		ended <- err
	})
	c, err := Dial(context.Background(), "127.0.0.1:"+port, Options{TLS: &tls.Config{RootCAs: ca.pool()}})
	if err != nil {
		t.Fatal(err)
	}
	c.Abandon()
	if err := <-ended; err == nil {
		t.Error("the connection ended as if nothing were in doubt")
	}
}
