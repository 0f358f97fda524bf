package config

import (
	"fmt"
	"strings"
)

// Compression says how record batches are compressed. The number is the codec
// id in the attributes of a record batch. The zero value is no compression.
type Compression int8

// The codecs of the record batch format. Zstd needs Kafka 2.1 or newer.
const (
	CompressionNone Compression = iota
	CompressionGzip
	CompressionSnappy
	CompressionLZ4
	CompressionZstd
)

var compressionNames = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// String returns the name that compression.type uses.
func (c Compression) String() string { return enumName("Compression", compressionNames, c) }

// MarshalText returns the name; a value that is no Compression is an error.
func (c Compression) MarshalText() ([]byte, error) {
	return enumMarshal("compression type", compressionNames, c)
}

// UnmarshalText accepts the names that String gives, in upper or lower case.
func (c *Compression) UnmarshalText(text []byte) error {
	return enumUnmarshal("compression type", compressionNames, text, c)
}

// SecurityProtocol says how connections to brokers are secured: with or without
// TLS (Kafka calls it SSL), with or without SASL. The zero value is PLAINTEXT,
// as in Kafka.
type SecurityProtocol int8

// Kafka's security protocols.
const (
	ProtocolPlaintext SecurityProtocol = iota
	ProtocolSSL
	ProtocolSASLPlaintext
	ProtocolSASLSSL
)

var protocolNames = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// String returns the name that security.protocol uses.
func (p SecurityProtocol) String() string { return enumName("SecurityProtocol", protocolNames, p) }

// MarshalText returns the name; a value that is no SecurityProtocol is an error.
func (p SecurityProtocol) MarshalText() ([]byte, error) {
	return enumMarshal("security protocol", protocolNames, p)
}

// UnmarshalText accepts the names that String gives, in upper or lower case.
func (p *SecurityProtocol) UnmarshalText(text []byte) error {
	return enumUnmarshal("security protocol", protocolNames, text, p)
}

// UsesTLS reports whether connections are encrypted.
func (p SecurityProtocol) UsesTLS() bool { return p == ProtocolSSL || p == ProtocolSASLSSL }

// UsesSASL reports whether the client authenticates with SASL.
func (p SecurityProtocol) UsesSASL() bool {
	return p == ProtocolSASLPlaintext || p == ProtocolSASLSSL
}

// SASLMechanism says how the client proves who it is. The zero value is unset,
// and prints as the empty text.
type SASLMechanism int8

// The mechanisms that need only a name and a password. For any other, set
// Config.SASL.
const (
	MechanismUnset SASLMechanism = iota
	MechanismPlain
	MechanismSCRAMSHA256
	MechanismSCRAMSHA512
)

var mechanismNames = []string{"", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}

// String returns the name that sasl.mechanism uses.
func (m SASLMechanism) String() string { return enumName("SASLMechanism", mechanismNames, m) }

// MarshalText returns the name; a value that is no SASLMechanism is an error.
func (m SASLMechanism) MarshalText() ([]byte, error) {
	return enumMarshal("SASL mechanism", mechanismNames, m)
}

// UnmarshalText accepts the names that String gives, in upper or lower case.
func (m *SASLMechanism) UnmarshalText(text []byte) error {
	return enumUnmarshal("SASL mechanism", mechanismNames, text, m)
}

func enumName[T ~int8](typeName string, names []string, v T) string {
	if v < 0 || int(v) >= len(names) {
		return fmt.Sprintf("%s(%d)", typeName, int8(v))
	}
	return names[v]
}

func enumMarshal[T ~int8](what string, names []string, v T) ([]byte, error) {
	if v < 0 || int(v) >= len(names) {
		return nil, fmt.Errorf("config: %d is no %s", int8(v), what)
	}
	return []byte(names[v]), nil
}

func enumUnmarshal[T ~int8](what string, names []string, text []byte, to *T) error {
	v, ok := enumValue[T](names, string(text))
	if !ok {
		return fmt.Errorf("config: %q is no %s: want %s", clip(string(text)), what, enumList(names))
	}
	*to = v
	return nil
}

func enumValue[T ~int8](names []string, text string) (T, bool) {
	for i, name := range names {
		if strings.EqualFold(name, text) {
			return T(i), true
		}
	}
	return 0, false
}

// enumList joins the names for an error text, without that of an unset value.
func enumList(names []string) string {
	if names[0] == "" {
		names = names[1:]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
