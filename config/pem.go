package config

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"strings"
)

// inlinePEM is the property ssl.truststore.certificates.
type inlinePEM struct{}

func (inlinePEM) parse(c *Config, value string) string {
	c.TruststoreCertificates = value
	return ""
}

func (inlinePEM) text(c *Config) string { return c.TruststoreCertificates }

// check leaves PEM to tlsFromPEM, whether it comes from a file or from here.
func (inlinePEM) check(*Config) []fault { return nil }

// tlsFromPEM builds the TLS settings that the properties describe.
func (c *Config) tlsFromPEM() (*tls.Config, []*FieldError) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	var faults []*FieldError
	report := func(name, value, problem string) {
		if problem != "" {
			faults = append(faults, lookup(name).fault(fault{value, problem}))
		}
	}
	var problem string
	switch inline, path := c.TruststoreCertificates, c.TruststoreLocation; {
	case inline != "" && path != "":
		report("ssl.truststore.location", path, "is given together with ssl.truststore.certificates: keep one of them")
	case inline != "":
		t.RootCAs, problem = certPool([]byte(inline))
		report("ssl.truststore.certificates", inline, problem)
	case path != "":
		t.RootCAs, problem = loadTruststore(path)
		report("ssl.truststore.location", path, problem)
	}
	if path := c.KeystoreLocation; path != "" {
		t.Certificates, problem = loadKeystore(path)
		report("ssl.keystore.location", path, problem)
	}
	return t, faults
}

func loadTruststore(path string) (*x509.CertPool, string) {
	data, problem := readPEM(path)
	if problem != "" {
		return nil, problem
	}
	return certPool(data)
}

// certPool reads certificates, and only certificates: a file that holds a key was
// not meant to be given away.
func certPool(data []byte) (*x509.CertPool, string) {
	pool, n := x509.NewCertPool(), 0
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return nil, "holds a private key, which does not belong to the authorities to trust"
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, "holds a certificate that cannot be read: " + err.Error()
		}
		pool.AddCert(cert)
		n++
	}
	if n == 0 {
		return nil, "holds no certificate in PEM form (line ends have to be there, as \\n in a .properties file)"
	}
	return pool, ""
}

// loadKeystore reads a certificate chain and its private key from one file.
func loadKeystore(path string) ([]tls.Certificate, string) {
	data, problem := readPEM(path)
	if problem != "" {
		return nil, problem
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return nil, "holds an encrypted private key: " + decryptHint
		}
	}
	cert, err := tls.X509KeyPair(data, data)
	if err != nil {
		return nil, "does not hold a certificate chain and its private key in PEM form: " + strings.TrimPrefix(err.Error(), "tls: ")
	}
	return []tls.Certificate{cert}, ""
}

func readPEM(path string) ([]byte, string) {
	data, err := readFile(path, maxPEM)
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err // the path is in the FieldError already
		}
		return nil, "cannot be read: " + err.Error()
	}
	jks, pkcs12 := []byte{0xfe, 0xed, 0xfe, 0xed}, []byte{0x30, 0x82}
	if bytes.HasPrefix(data, jks) || bytes.HasPrefix(data, pkcs12) {
		return nil, "is not a PEM file: " + convertHint
	}
	return data, ""
}
