// Package testcert makes a certificate for the loopback address, for tests of
// TLS.
package testcert

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
	"testing"
	"time"
)

// Cert is a self-signed certificate with its key.
type Cert struct {
	TLS tls.Certificate
	CA  string // PEM file with the certificate, to be trusted
	All string // PEM file with key and certificate, as a Java broker takes it
}

// New makes a certificate for 127.0.0.1 that holds for an hour.
func New(t testing.TB) Cert {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	must(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	both := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), cert...)
	dir := t.TempDir()
	c := Cert{
		TLS: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		CA:  filepath.Join(dir, "ca.pem"), All: filepath.Join(dir, "all.pem"),
	}
	must(t, os.WriteFile(c.CA, cert, 0o600))
	must(t, os.WriteFile(c.All, both, 0o600))
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
