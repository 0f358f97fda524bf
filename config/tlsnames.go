package config

import "strings"

// tlsProperties are the names about TLS that set no field of their own. None of
// them is ignored: who writes one relies on it.
var tlsProperties = []property{
	{name: "ssl.ca.location", kind: alias{to: "ssl.truststore.location", unset: "probe"}},
	{name: "ssl.ca.pem", kind: alias{to: "ssl.truststore.certificates"}},
	{name: "ssl.certificate.location", kind: alias{to: "ssl.keystore.location"}},
	{name: "ssl.certificate.pem", kind: alias{to: "ssl.keystore.certificate.chain"}},
	{name: "ssl.key.pem", kind: alias{to: "ssl.keystore.key"}},

	{name: "ssl.endpoint.identification.algorithm", doc: "host names are always checked",
		kind: refused{[]string{"https"},
			"must be https: without the check of host names anyone with a certificate can pose as a broker (the Go field TLS can do otherwise)"}},
	{name: "enable.ssl.certificate.verification", doc: "certificates are always checked",
		kind: refused{[]string{"true"},
			"must be true: without the check of certificates anyone can pose as a broker (the Go field TLS can do otherwise)"}},
	{name: "ssl.protocol", doc: "TLS 1.2 and newer",
		kind: refused{[]string{"TLS", "TLSv1.2", "TLSv1.3"}, "must be TLS, TLSv1.2 or TLSv1.3: older versions are not offered"}},
	{name: "ssl.enabled.protocols", doc: "TLS 1.2 and newer", kind: tlsVersions{}},
	{name: "ssl.truststore.type", doc: "PEM files only", kind: storeType},
	{name: "ssl.keystore.type", doc: "PEM files only", kind: storeType},
	{name: "ssl.truststore.password", doc: "PEM files have none", kind: storePassword},
	{name: "ssl.keystore.password", doc: "PEM files have none", kind: storePassword},
	{name: "ssl.key.password", doc: "the private key must not be encrypted", kind: refused{[]string{""}, "cannot be used: " + decryptHint}},
	{name: "ssl.keymanager.algorithm", doc: "of the Java runtime", kind: refused{[]string{"SunX509", "PKIX"}, "is of the Java runtime: take it out, or set the Go field TLS"}},
	{name: "ssl.trustmanager.algorithm", doc: "of the Java runtime", kind: refused{[]string{"PKIX", "SunX509"}, "is of the Java runtime: take it out, or set the Go field TLS"}},
	{name: "ssl.cipher.suites", doc: "Go chooses", kind: goTLS},
	{name: "ssl.provider", doc: "Go chooses", kind: goTLS},
	{name: "ssl.secure.random.implementation", doc: "Go chooses", kind: goTLS},
	{name: "ssl.engine.factory.class", doc: "Go chooses", kind: goTLS},
	{name: "security.providers", doc: "Go chooses", kind: goTLS},
	{name: "ssl.curves.list", doc: "Go chooses", kind: goTLS},
	{name: "ssl.sigalgs.list", doc: "Go chooses", kind: goTLS},
	{name: "ssl.providers", doc: "Go chooses", kind: goTLS},
	{name: "ssl.engine.location", doc: "Go chooses", kind: goTLS},
	{name: "ssl.engine.id", doc: "Go chooses", kind: goTLS},
	{name: "ssl.ca.certificate.stores", doc: "Windows stores cannot be named",
		kind: refused{why: "cannot name a store of Windows: take it out for those that the system trusts, or give a PEM file in ssl.truststore.location"}},
	{name: "ssl.crl.location", doc: "revocation lists are not read",
		kind: refused{why: "cannot be used, revocation lists are not read: take it out, or check them in VerifyConnection of the Go field TLS"}},
	{name: "ssl_key", doc: "not a property", kind: callback}, {name: "ssl_certificate", doc: "not a property", kind: callback},
	{name: "ssl_ca", doc: "not a property", kind: callback}, {name: "ssl_engine_callback_data", doc: "not a property", kind: callback},
	{name: "ssl.certificate.verify_cb", doc: "not a property", kind: callback},
}

var (
	storeType = refused{[]string{"PEM"}, "must be PEM: " + convertHint}

	storePassword = refused{[]string{""}, "is not needed, PEM files have no password: take it out (a JKS or PKCS12 file has to become PEM first)"}

	goTLS = refused{[]string{""}, "cannot be chosen by a property, Go has its own choice: take it out, or set the Go field TLS"}
)

const (
	convertHint = "JKS and PKCS12 files have to be converted, with keytool -importkeystore -deststoretype PKCS12 and then openssl pkcs12 -nodes"

	decryptHint = "encrypted private keys cannot be read; decrypt the key with openssl pkey and guard the file by its permissions, or set the Go field TLS"
)

// tlsVersions is a list of versions. What is offered is TLS 1.2 and newer, so the
// list may ask for that, or for older ones too, but not for the newest alone.
type tlsVersions struct{}

func (tlsVersions) parse(_ *Config, value string) string {
	with12 := false
	for v := range strings.SplitSeq(value, ",") {
		v = strings.TrimSpace(v)
		if !containsFold([]string{"TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"}, v) {
			return "must be a list of TLSv1.2 and TLSv1.3"
		}
		with12 = with12 || strings.EqualFold(v, "TLSv1.2")
	}
	if !with12 {
		return "cannot leave out TLSv1.2, which is offered beside TLSv1.3: for a choice of versions set the Go field TLS"
	}
	return ""
}

func (tlsVersions) text(*Config) string { return "TLSv1.2,TLSv1.3" }

func (tlsVersions) check(*Config) []fault { return nil }

func (tlsVersions) harmless(value string) bool { return isShort(value) }

func (tlsVersions) warning(value string) string {
	for v := range strings.SplitSeq(value, ",") {
		if containsFold([]string{"TLSv1", "TLSv1.1"}, strings.TrimSpace(v)) {
			return "names versions below TLS 1.2, which are not offered"
		}
	}
	return ""
}
