package config

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
)

// Unbounded as MaxBlock makes the context the only bound. As a property it is -1.
const Unbounded time.Duration = -1

// Config holds every setting of a producer. Start from [Default]: in a Config
// made any other way a zero means zero, not a default. A Config is a plain value
// without locks; do not change it while another goroutine reads it. The producer
// works on a clone.
type Config struct {
	// BootstrapServers (bootstrap.servers) are the brokers asked first, as
	// host:port, an IPv6 address in brackets. One that answers is enough; the
	// others are learnt from it. Required, no default.
	BootstrapServers []string

	// ClientID (client.id) names the client in the broker's logs, metrics and
	// quotas: printable, at most 249 bytes, may be empty. Default "sluice".
	ClientID string

	// Linger (linger.ms) is the longest that an open batch waits for company
	// before it may be sent. It counts from the batch's first record, or from the
	// request before it on the connection if that was earlier: a record that comes
	// when nothing was sent for so long leaves at once. With 0 a record leaves at
	// once if nothing is in flight on the connection, and otherwise waits for an
	// eighth of the round trip at most, from 0.2 to 1 ms. Default 5 ms.
	Linger time.Duration

	// BatchBytes (batch.size) is the size at which a batch is closed, in bytes
	// before compression. A larger record gets a batch of its own, as long as
	// that fits MaxRequestBytes. Default 131072, at least 1.
	BatchBytes int

	// MaxRequestBytes (max.request.size) bounds one request, and so one record,
	// in bytes. It leaves room for 1024 bytes beside a batch of BatchBytes. More
	// than 104857600 is refused here, as brokers close the connection on it
	// (their socket.request.max.bytes). Default 8388608 (8 MiB).
	MaxRequestBytes int

	// Compression (compression.type) is the codec of record batches. Default
	// CompressionNone.
	Compression Compression

	// BufferBytes (buffer.memory) bounds the bytes of records that have no outcome
	// yet, as they are in a batch. At the bound Produce waits, see MaxBlock. What is
	// alive on the heap is about as much where batches get full, twice that with a
	// codec, as both forms of a batch are kept, and each up to twice as much again
	// where batches fill little more than half of their buffers, which are powers of
	// two. The garbage collector's headroom comes on top. At least BatchBytes.
	// Default 67108864 (64 MiB).
	BufferBytes int64

	// MaxBlock (max.block.ms) is how long Produce waits for room in the buffer,
	// besides its context. 0 fails at once with ErrBufferFull; Unbounded (-1)
	// leaves the context as the only bound. Default 60 s.
	MaxBlock time.Duration

	// MaxInFlightBytes (max.in.flight.bytes) bounds what is written to one
	// connection and not yet answered, in bytes. At least MaxRequestBytes, so
	// that every request can go. BufferBytes bounds it in any case, and over a long
	// line all of that is useful, so the default is more: 1073741824 (1 GiB).
	MaxInFlightBytes int64

	// MaxInFlightSequences (max.in.flight.sequence.number.per.connection, KIP-758)
	// bounds the sequence numbers of one partition that are in flight, counted in
	// records. It can only lower what a broker names for itself. From 1 to 2^30.
	// Default 10000000.
	MaxInFlightSequences int32

	// MaxInFlightBatches (max.in.flight.batches.per.partition) bounds the batches
	// of one partition that are in flight. 0 is no cap of its own. Default 0.
	MaxInFlightBatches int

	// RequestsInFlight (sluice.requests.in.flight) is how many requests a
	// connection carries at once. 0 is as many as bring something: what would only
	// wait at the broker waits here. Default 0.
	RequestsInFlight int

	// ConnectionsPerBroker (connections.per.broker) is over how many connections
	// the partitions of a broker are spread, each pinned to one. A broker serves
	// one request of a connection at a time, its wait for replicas included, so
	// several overlap those waits. From 1 to 64. Default 1.
	ConnectionsPerBroker int

	// RequestTimeout (request.timeout.ms) is how long one request may wait for
	// its response: from the start of its write, or from the response before it on
	// the connection if that came later. The time that the bytes of both take on
	// the way is part of it. Default 30 s.
	RequestTimeout time.Duration

	// DeliveryTimeout (delivery.timeout.ms) bounds the time from Produce to the
	// outcome of a record, all attempts included. It, not a number of retries,
	// ends the attempts. At least Linger + RequestTimeout (KIP-91). Default 120 s.
	DeliveryTimeout time.Duration

	// DialTimeout (socket.connection.setup.timeout.ms) bounds the setup of a
	// connection: TCP, TLS, version exchange, SASL. Default 10 s.
	DialTimeout time.Duration

	// RetryBackoff (retry.backoff.ms) is the first pause before another attempt;
	// it grows to RetryBackoffMax. Not 0, which would be a storm of requests.
	// Default 100 ms.
	RetryBackoff time.Duration

	// RetryBackoffMax (retry.backoff.max.ms, KIP-580) is the longest pause
	// between two attempts, at least RetryBackoff. Default 1 s.
	RetryBackoffMax time.Duration

	// ReconnectBackoff (reconnect.backoff.ms) is the first pause before a broker
	// is dialled again; it grows to ReconnectBackoffMax. Not 0. Default 50 ms.
	ReconnectBackoff time.Duration

	// ReconnectBackoffMax (reconnect.backoff.max.ms) is the longest pause between
	// two dials of a broker, at least ReconnectBackoff. Default 1 s.
	ReconnectBackoffMax time.Duration

	// MetadataMaxAge (metadata.max.age.ms) is how old metadata may become before
	// it is asked for again without any error. Not 0. Default 5 min.
	MetadataMaxAge time.Duration

	// MetadataMaxIdle (metadata.max.idle.ms) is after how long without a record a
	// topic is forgotten (KIP-526), so that it leaves the metadata requests. What
	// lanes write to stays. Not 0. Default 5 min.
	MetadataMaxIdle time.Duration

	// AllowAutoCreateTopics (allow.auto.create.topics) lets the broker create an
	// unknown topic, if the broker's own settings allow it. It is asked to only while
	// a record waits for the topic. Default true.
	AllowAutoCreateTopics bool

	// CheckCluster (metadata.cluster.check.enable) refuses brokers of another
	// cluster than the one that answered first. False: where the bootstrap servers
	// lead to another one the producer goes on there; what is under way then is
	// Unknown, what waits is NotWritten, and lanes stop. Default true.
	CheckCluster bool

	// RefusalGrace (sluice.refusal.grace.ms) is how long a record waits while the
	// brokers refuse a login, a certificate, the rights or each version that is
	// spoken here. After that it fails as NotWritten, with that reason. The producer
	// goes on asking, and later records are written once it is let in. 0 waits for
	// nothing. Default 5 s.
	RefusalGrace time.Duration

	// ProducerIDExpiration (producer.id.expiration.ms) is the broker setting of
	// that name: after this time without a batch a broker may forget a producer.
	// It decides when state counts as fresh; set it to what the brokers have, or
	// lower. Not 0. Default 24 h.
	ProducerIDExpiration time.Duration

	// PartitionerIgnoreKeys (partitioner.ignore.keys) spreads records with a key
	// like records without one. Default false: equal keys go to one partition.
	PartitionerIgnoreKeys bool

	// SecurityProtocol (security.protocol) says whether connections use TLS and
	// SASL. Default ProtocolPlaintext, neither.
	SecurityProtocol SecurityProtocol

	// TruststoreLocation (ssl.truststore.location) is a PEM file with the
	// certificates of the authorities to trust. Empty: those of
	// TruststoreCertificates, or else those of the system. Default empty.
	TruststoreLocation string

	// TruststoreCertificates (ssl.truststore.certificates) is the content of such
	// a PEM file, line ends included (\n in a .properties file). Not together
	// with TruststoreLocation. Default empty.
	TruststoreCertificates string

	// KeystoreLocation (ssl.keystore.location) is a PEM file with the certificate
	// chain of the client, its own certificate first, and the private key,
	// unencrypted, unless KeyLocation or KeystoreKey gives that. Empty, and
	// KeystoreCertificates too: the client shows no certificate. Default empty.
	KeystoreLocation string

	// KeystoreCertificates (ssl.keystore.certificate.chain) is the content of a PEM
	// file with the chain, line ends included. It needs KeyLocation or KeystoreKey.
	// Not together with KeystoreLocation. Default empty.
	KeystoreCertificates string

	// KeyLocation (ssl.key.location) is a PEM file with the private key of the
	// client, unencrypted, where that is a file of its own. Default empty.
	KeyLocation string

	// KeystoreKey (ssl.keystore.key) is the content of such a PEM file, line ends
	// included. Not together with KeyLocation. Default empty.
	KeystoreKey Secret

	// SASLMechanism (sasl.mechanism) is required with SASL, unless SASL is set.
	// Default MechanismUnset.
	SASLMechanism SASLMechanism

	// SASLUsername (sasl.username) is the name to authenticate with; see also
	// the property sasl.jaas.config. Default empty.
	SASLUsername string

	// SASLPassword (sasl.password) is the password to authenticate with; see
	// also the property sasl.jaas.config. Default empty.
	SASLPassword Secret

	// AllowPlaintextPasswords (sluice.allow.plaintext.passwords) permits the
	// mechanisms that send the password or token itself, PLAIN and OAUTHBEARER,
	// on connections without TLS. Default false.
	AllowPlaintextPasswords bool

	// TLS, in Go only, takes the place of the settings Truststore... and
	// Keystore... It is cloned, ServerName is filled in for each broker when
	// empty, and versions below TLS 1.2 are refused. Nil: those settings hold.
	TLS *tls.Config

	// SASL, in Go only, takes the place of SASLMechanism, SASLUsername and
	// SASLPassword. It is called by several connections at once. Nil: those
	// settings hold.
	SASL sasl.Mechanism

	// Logger, in Go only, gets what happens between producer and brokers. Nil
	// discards it.
	Logger *slog.Logger

	// Dialer, in Go only, opens TCP connections, as net.Dialer.DialContext does;
	// TLS goes on top. It is called by several goroutines at once, and ctx ends
	// at DialTimeout. Nil: a net.Dialer.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

	// Warnings, in Go only, is what the functions that read properties have to say
	// about those that are accepted and have another effect here than with the
	// client they are from, or none. [Strict] makes errors of them.
	Warnings []Warning

	// given is what the properties set and where they were found, for Explain.
	given []given
}

// goOnly names the fields that no property can set.
var goOnly = []string{"TLS", "SASL", "Logger", "Dialer", "Warnings"}

// Default returns the defaults. Only BootstrapServers remains to be set.
func Default() Config {
	return Config{
		ClientID:              "sluice",
		Linger:                5 * time.Millisecond,
		BatchBytes:            128 << 10,
		MaxRequestBytes:       8 << 20,
		BufferBytes:           64 << 20,
		MaxBlock:              time.Minute,
		MaxInFlightBytes:      1 << 30,
		MaxInFlightSequences:  10_000_000,
		ConnectionsPerBroker:  1,
		RequestTimeout:        30 * time.Second,
		DeliveryTimeout:       2 * time.Minute,
		DialTimeout:           10 * time.Second,
		RetryBackoff:          100 * time.Millisecond,
		RetryBackoffMax:       time.Second,
		ReconnectBackoff:      50 * time.Millisecond,
		ReconnectBackoffMax:   time.Second,
		MetadataMaxAge:        5 * time.Minute,
		MetadataMaxIdle:       5 * time.Minute,
		AllowAutoCreateTopics: true,
		CheckCluster:          true,
		RefusalGrace:          5 * time.Second,
		ProducerIDExpiration:  24 * time.Hour,
	}
}

// Clone returns a copy that shares nothing which could be changed: the list of
// servers and TLS are copied. SASL, Logger and Dialer are shared.
func (c *Config) Clone() Config {
	clone := *c
	clone.BootstrapServers = slices.Clone(c.BootstrapServers)
	clone.TLS = c.TLS.Clone()
	clone.Warnings = slices.Clone(c.Warnings)
	return clone
}
