package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// identity is a certificate with its key, both as PEM.
type identity struct {
	cert, key []byte
	parsed    *x509.Certificate
	signer    *ecdsa.PrivateKey
}

// newIdentity makes a certificate for 127.0.0.1, signed by ca, or by itself.
func newIdentity(t *testing.T, name string, ca *identity) *identity {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: ca == nil, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	parent, signer := template, key
	if ca != nil {
		parent, signer = ca.parsed, ca.signer
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &identity{
		cert:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:    pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
		parsed: parsed, signer: key,
	}
}

func writeFile(t *testing.T, parts ...[]byte) string {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "*.pem")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if _, err := f.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// handshake has the client of c talk to a server that demands a certificate.
func handshake(t *testing.T, c *Config, server *identity, clientCA *identity) error {
	t.Helper()
	pair, err := tls.X509KeyPair(server.cert, server.key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(clientCA.parsed)
	settings := &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", settings)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	verdict := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			err = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
		verdict <- err
	}()
	client, err := c.BuildTLS()
	if err != nil {
		t.Fatal(err)
	}
	// The dialer fills in the server name.
	conn, err := tls.Dial("tcp", listener.Addr().String(), client)
	if err == nil {
		defer conn.Close()
	}
	// The server judges the client's certificate after the client is done.
	return errors.Join(err, <-verdict)
}

func TestMutualTLS(t *testing.T) {
	ca := newIdentity(t, "ca", nil)
	server, client := newIdentity(t, "server", ca), newIdentity(t, "client", ca)
	c := valid()
	c.SecurityProtocol = ProtocolSSL
	c.KeystoreLocation = writeFile(t, []byte("some remark\n"), client.cert, client.key)

	c.TruststoreLocation = writeFile(t, []byte("some remark\n"), newIdentity(t, "other", nil).cert, ca.cert)
	wantFaults(t, c.Validate())
	if err := handshake(t, &c, server, ca); err != nil {
		t.Errorf("with a truststore file: %v", err)
	}

	c.TruststoreLocation, c.TruststoreCertificates = "", string(ca.cert)
	wantFaults(t, c.Validate())
	if err := handshake(t, &c, server, ca); err != nil {
		t.Errorf("with inline certificates: %v", err)
	}

	c.TruststoreCertificates = string(newIdentity(t, "stranger", nil).cert)
	if err := handshake(t, &c, server, ca); err == nil {
		t.Error("a server of an unknown authority was trusted")
	}

	c.TruststoreCertificates = ""
	wantFaults(t, c.Validate())
	if settings, err := c.BuildTLS(); err != nil || settings.RootCAs != nil || settings.MinVersion != tls.VersionTLS12 || settings.ServerName != "" {
		t.Errorf("without a truststore: %+v, %v", settings, err)
	}
}

func TestBuildTLSWithoutTLS(t *testing.T) {
	c := valid()
	for _, p := range []SecurityProtocol{ProtocolPlaintext, ProtocolSASLPlaintext} {
		c.SecurityProtocol = p
		if settings, err := c.BuildTLS(); settings != nil || err != nil {
			t.Errorf("%v: %v, %v", p, settings, err)
		}
	}
}

// BuildTLS reports what Validate reports; it never falls back to other roots.
func TestBadTruststores(t *testing.T) {
	id := newIdentity(t, "x", nil)
	garbled := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})
	for name, tc := range map[string]struct {
		content []byte
		want    string
	}{
		"empty":        {nil, "holds no certificate"},
		"text":         {[]byte("hello"), "holds no certificate"},
		"no line ends": {[]byte(strings.ReplaceAll(string(id.cert), "\n", " ")), "line ends have to be there"},
		"private key":  {append(id.cert[:len(id.cert):len(id.cert)], id.key...), "holds a private key"},
		"other block":  {pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")}), "holds no certificate"},
		"garbled":      {garbled, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			file, inline := valid(), valid()
			file.SecurityProtocol, inline.SecurityProtocol = ProtocolSSL, ProtocolSSL
			file.TruststoreLocation = writeFile(t, tc.content)
			wantBothFaults(t, &file, "ssl.truststore.location: "+tc.want)
			if len(tc.content) > 0 {
				inline.TruststoreCertificates = string(tc.content)
				wantBothFaults(t, &inline, "ssl.truststore.certificates: "+tc.want)
			}
		})
	}
}

func wantBothFaults(t *testing.T, c *Config, want ...string) {
	t.Helper()
	wantFaults(t, c.Validate(), want...)
	settings, err := c.BuildTLS()
	wantFaults(t, err, want...)
	if settings != nil {
		t.Error("settings despite the error")
	}
}

func TestBadKeystores(t *testing.T) {
	id, other := newIdentity(t, "x", nil), newIdentity(t, "y", nil)
	block := func(kind string, headers map[string]string) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Headers: headers, Bytes: []byte("x")})
	}
	for name, tc := range map[string]struct {
		content [][]byte
		want    string
	}{
		"no key":       {[][]byte{id.cert}, "does not hold a certificate chain and its private key"},
		"no chain":     {[][]byte{id.key}, "does not hold a certificate chain and its private key"},
		"other key":    {[][]byte{id.cert, other.key}, "private key does not match"},
		"PKCS8":        {[][]byte{id.cert, block("ENCRYPTED PRIVATE KEY", nil)}, "encrypted private key"},
		"old":          {[][]byte{id.cert, block("EC PRIVATE KEY", map[string]string{"Proc-Type": "4,ENCRYPTED"})}, "encrypted private key"},
		"JKS":          {[][]byte{{0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2}}, "is not a PEM file: JKS and PKCS12"},
		"PKCS12":       {[][]byte{{0x30, 0x82, 0x0a, 0}}, "is not a PEM file: JKS and PKCS12"},
		"far too long": {[][]byte{make([]byte, maxPEM+1)}, "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			c := valid()
			c.SecurityProtocol = ProtocolSSL
			c.KeystoreLocation = writeFile(t, tc.content...)
			wantBothFaults(t, &c, "ssl.keystore.location: "+tc.want)
		})
	}
}

func TestAllPEMFaultsAtOnce(t *testing.T) {
	c := valid()
	c.SecurityProtocol = ProtocolSSL
	c.TruststoreLocation, c.TruststoreCertificates, c.KeystoreLocation = "a", "b", filepath.Join(t.TempDir(), "absent")
	wantBothFaults(t, &c, "ssl.truststore.location: keep one of them", "ssl.keystore.location: cannot be read: no such file")
	err := c.Validate()
	if strings.Count(err.Error(), c.KeystoreLocation) != 1 {
		t.Errorf("the path is not there once: %v", err)
	}
}

func TestInlineCertificatesInAFile(t *testing.T) {
	ca := newIdentity(t, "ca", nil)
	file := "bootstrap.servers=a:1\nsecurity.protocol=SSL\nssl.truststore.certificates=" +
		strings.ReplaceAll(string(ca.cert), "\n", "\\n\\\n  ")
	c, err := Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	wantFaults(t, c.Validate())
}

// Chain and key may be one file, two files, or texts, in any mixture that has
// one of each.
func TestWhereChainAndKeyCanBe(t *testing.T) {
	ca := newIdentity(t, "ca", nil)
	server, client, other := newIdentity(t, "server", ca), newIdentity(t, "client", ca), newIdentity(t, "other", ca)
	chain, key := writeFile(t, client.cert), writeFile(t, client.key)
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")})
	for name, tc := range map[string]struct {
		set  func(c *Config)
		want string
	}{
		"two files": {func(c *Config) { c.KeystoreLocation, c.KeyLocation = chain, key }, ""},
		"two texts": {func(c *Config) {
			c.KeystoreCertificates, c.KeystoreKey = string(client.cert), NewSecret(string(client.key))
		}, ""},
		"file and text":  {func(c *Config) { c.KeystoreLocation, c.KeystoreKey = chain, NewSecret(string(client.key)) }, ""},
		"text and file":  {func(c *Config) { c.KeystoreCertificates, c.KeyLocation = string(client.cert), key }, ""},
		"two chains":     {func(c *Config) { c.KeystoreLocation, c.KeystoreCertificates, c.KeyLocation = chain, "x", key }, "ssl.keystore.location: is given together with ssl.keystore.certificate.chain"},
		"two keys":       {func(c *Config) { c.KeystoreLocation, c.KeystoreKey, c.KeyLocation = chain, NewSecret("x"), key }, "ssl.key.location: is given together with ssl.keystore.key"},
		"key alone":      {func(c *Config) { c.KeyLocation = key }, "ssl.key.location: private key without a certificate"},
		"key text alone": {func(c *Config) { c.KeystoreKey = NewSecret("x") }, "ssl.keystore.key: private key without a certificate"},
		"chain alone":    {func(c *Config) { c.KeystoreCertificates = string(client.cert) }, "ssl.keystore.certificate.chain: certificate without its private key"},
		"other key":      {func(c *Config) { c.KeystoreLocation, c.KeystoreKey = chain, NewSecret(string(other.key)) }, "ssl.keystore.location: private key does not match"},
		"encrypted key":  {func(c *Config) { c.KeystoreLocation, c.KeystoreKey = chain, NewSecret(string(encrypted)) }, "ssl.keystore.key: encrypted private key"},
		"no such file":   {func(c *Config) { c.KeystoreLocation, c.KeyLocation = chain, key+"x" }, "ssl.key.location: cannot be read: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			c := valid()
			c.SecurityProtocol, c.TruststoreCertificates = ProtocolSSL, string(ca.cert)
			tc.set(&c)
			if tc.want != "" {
				wantBothFaults(t, &c, tc.want)
				return
			}
			wantFaults(t, c.Validate())
			if err := handshake(t, &c, server, ca); err != nil {
				t.Error(err)
			}
			c.SecurityProtocol = ProtocolPlaintext
			if n := len(faultsOf(t, c.Validate())); n != 3 { // the authorities, the chain, the key
				t.Errorf("%d faults without TLS", n)
			}
		})
	}
}
