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

// inlinePEM is the content of a PEM file. Its values are never shown, since a
// private key may be pasted where certificates belong.
type inlinePEM struct {
	at func(*Config) *string
}

func (k inlinePEM) parse(c *Config, value string) string {
	*k.at(c) = value
	return ""
}

func (k inlinePEM) text(c *Config) string { return *k.at(c) }

// check leaves PEM to tlsFromPEM, whether it comes from a file or from here.
func (inlinePEM) check(*Config) []fault { return nil }

func (inlinePEM) harmless(string) bool { return false }

// tlsFromPEM builds the TLS settings that the properties describe.
func (c *Config) tlsFromPEM() (*tls.Config, []*FieldError) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	var truststore, keystore []*FieldError
	t.RootCAs, truststore = c.truststore()
	t.Certificates, keystore = c.keystore()
	return t, append(truststore, keystore...)
}

// truststore returns the authorities to trust, nil for those of the system.
func (c *Config) truststore() (*x509.CertPool, []*FieldError) {
	const location, inline = "ssl.truststore.location", "ssl.truststore.certificates"
	source, data, faults := onePEM(c, location, inline)
	if source == "" || len(faults) > 0 {
		return nil, faults
	}
	pool, problem := certPool(data)
	return pool, c.pemFault(source, problem)
}

// keystore returns the certificate that the client shows, if any. Chain and key
// may come from one file, or from two places.
func (c *Config) keystore() ([]tls.Certificate, []*FieldError) {
	const location, chain = "ssl.keystore.location", "ssl.keystore.certificate.chain"
	const keyLocation, keyInline = "ssl.key.location", "ssl.keystore.key"
	source, certs, faults := onePEM(c, location, chain)
	keySource, key, keyFaults := onePEM(c, keyLocation, keyInline)
	faults = append(faults, keyFaults...)
	switch {
	case len(faults) > 0 || source == "" && keySource == "":
		return nil, faults
	case source == "":
		return nil, c.pemFault(keySource, "is a private key without a certificate: give "+location+" or "+chain+" as well")
	case keySource == "" && source == chain:
		return nil, c.pemFault(source, "is a certificate without its private key: give "+keyInline+" or "+keyLocation+" as well")
	case keySource == "":
		keySource, key = source, certs
	}
	if isEncryptedKey(key) {
		return nil, c.pemFault(keySource, "holds an encrypted private key: "+decryptHint)
	}
	cert, err := tls.X509KeyPair(certs, key)
	if err != nil {
		return nil, c.pemFault(source, "does not hold a certificate chain and its private key in PEM form: "+strings.TrimPrefix(err.Error(), "tls: "))
	}
	return []tls.Certificate{cert}, nil
}

// onePEM reads the one of two properties that is set: a path, or the content.
// Source is the name of that one, empty if neither is set.
func onePEM(c *Config, location, inline string) (source string, data []byte, faults []*FieldError) {
	file, content := lookup(location).kind.text(c), lookup(inline).kind.text(c)
	switch {
	case file != "" && content != "":
		return "", nil, c.pemFault(location, "is given together with "+inline+": keep one of them")
	case content != "":
		return inline, []byte(content), nil
	case file == "":
		return "", nil, nil
	}
	data, problem := readPEM(file)
	return location, data, c.pemFault(location, problem)
}

// pemFault is a fault in a property, none for an empty problem.
func (c *Config) pemFault(name, problem string) []*FieldError {
	if problem == "" {
		return nil
	}
	p := lookup(name)
	return []*FieldError{p.fault(fault{p.kind.text(c), problem})}
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

func isEncryptedKey(data []byte) bool {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return true
		}
	}
	return false
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
