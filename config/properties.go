package config

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Use is what becomes of a property.
type Use int8

// What becomes of a property.
const (
	// Mapped: it sets a field.
	Mapped Use = iota
	// Ignored: it has no effect, and a warning says what it would have done. Most
	// have a value that asks for what happens anyway, and gives no warning.
	Ignored
	// Refused: it is an error that says why and what to do, but for values that ask
	// for what happens anyway.
	Refused
)

var useNames = []string{"mapped", "ignored", "refused"}

// String returns the word in lower case.
func (u Use) String() string { return enumName("Use", useNames, u) }

// Property describes one property name.
type Property struct {
	// Name is the name as its client writes it. If it ends in .* it stands for all
	// names that begin so.
	Name string
	// Field is the field of Config that it sets under its main name. It is empty for
	// other names of the same, for sasl.jaas.config, which sets two fields, and for
	// what sets none.
	Field string
	// SameAs is the main name, if this is another one.
	SameAs string
	// Use is what becomes of it.
	Use Use
	// Default is the default in the form of a property value; for a property that is
	// refused, a value that is accepted. Empty: none.
	Default string
	// Doc says in one line what it sets, or why it does not, without a stop.
	Doc string
}

// Properties returns every known property, in the order of the fields of Config,
// those without a field last. The slice belongs to the caller.
func Properties() []Property {
	defaults := Default()
	list := make([]Property, len(table))
	for i := range table {
		p := &table[i]
		list[i] = Property{Name: p.name, Field: p.field, Use: p.use(), Default: p.kind.text(&defaults), Doc: p.doc}
		if to := p.canonical(); to != p.name {
			list[i].SameAs, list[i].Doc = to, "another name of "+to
			if p.doc != "" {
				list[i].Doc += "; " + p.doc
			}
		}
	}
	return list
}

// use follows from the kind.
func (p *property) use() Use {
	switch k := p.kind.(type) {
	case alias:
		return lookup(k.to).use()
	case ignored:
		return Ignored
	case refused, function, tlsVersions:
		return Refused
	}
	return Mapped
}

// property is one row of the table that ties names to fields. The documentation,
// the parser, Validate and the printing of a Config all read this table.
type property struct {
	name  string
	field string // "" when it has none
	kind  kind
	doc   string
}

// fault completes a fault found in this property.
func (p *property) fault(f fault) *FieldError {
	return &FieldError{Property: p.name, Value: p.visible(f.value), Problem: f.problem}
}

// visible is the value if it may be shown, else the mask.
func (p *property) visible(value string) string {
	if value != "" && !p.kind.harmless(value) {
		return mask
	}
	return value
}

// isFamily reports whether the row stands for all names that begin with its own.
func (p *property) isFamily() bool { return strings.HasSuffix(p.name, ".*") }

// canonical is the name of the property that this one is another name of, or its
// own.
func (p *property) canonical() string {
	if a, ok := p.kind.(alias); ok {
		return a.to
	}
	return p.name
}

// sets lists the properties whose fields this one sets.
func (p *property) sets() []string {
	if _, ok := p.kind.(jaas); ok {
		return []string{"sasl.username", "sasl.password"}
	}
	if lookup(p.canonical()).field == "" {
		return nil
	}
	return []string{p.canonical()}
}

// shown is the name under which the property was given, but for a family only what
// is known of it.
func (p *property) shown(e entry) string {
	if p.isFamily() {
		return p.name
	}
	return e.name
}

// isSensitive reports whether a value of this property can be, or be followed by,
// something secret.
func (p *property) isSensitive(value string) bool {
	return sensitive.MatchString(p.canonical()) || !isPlain(value)
}

// sensitive finds the names of properties that are about TLS and logins.
var sensitive = regexp.MustCompile(`ssl|sasl|https|auth|registry|jaas|providers`)

// lookup finds a known property, or returns nil.
func lookup(name string) *property {
	for _, prefix := range springPrefixes {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return lookup(rest)
		}
	}
	if p, ok := byName[name]; ok {
		return p
	}
	i := slices.IndexFunc(families, func(p *property) bool { return strings.HasPrefix(name, strings.TrimSuffix(p.name, "*")) })
	if i < 0 {
		return nil
	}
	return families[i]
}

// Limits that come from elsewhere.
const (
	maxClientID  = 249       // as long as a topic name may be
	maxPath      = 4096      // PATH_MAX
	maxPEM       = 4 << 20   // a system's whole set of authorities is 0.3 MiB
	maxRequest   = 100 << 20 // socket.request.max.bytes of brokers
	maxSequences = 1 << 30   // half of the sequence numbers (KIP-758)
)

var table = slices.Concat(sendingProperties, timeProperties, securityProperties,
	javaProperties, rdkafkaProperties, tlsProperties, loginProperties, consumerProperties, springProperties)

// byName is the table by its names, families are the rows that are found by how a
// name begins.
var byName, families = func() (map[string]*property, []*property) {
	byName, families := make(map[string]*property, len(table)), []*property(nil)
	for i := range table {
		p := &table[i]
		byName[p.name] = p
		if p.isFamily() {
			families = append(families, p)
		}
	}
	return byName, families
}()

var sendingProperties = []property{
	{name: "bootstrap.servers", field: "BootstrapServers", kind: servers{},
		doc: "brokers asked first, host:port separated by commas; required"},
	{name: "client.id", field: "ClientID",
		kind: text{at: func(c *Config) *string { return &c.ClientID }, most: maxClientID},
		doc:  "name of the client in the broker's logs, metrics and quotas"},
	{name: "linger.ms", field: "Linger",
		kind: millis{at: func(c *Config) *time.Duration { return &c.Linger }},
		doc:  "how long an open batch waits for company at most; 0: for a small part of the round trip"},
	{name: "batch.size", field: "BatchBytes",
		kind: whole[int]{at: func(c *Config) *int { return &c.BatchBytes }, least: 1, most: maxRequest, unit: "bytes"},
		doc:  "size at which a batch is closed"},
	{name: "max.request.size", field: "MaxRequestBytes",
		kind: whole[int]{at: func(c *Config) *int { return &c.MaxRequestBytes }, least: 1, most: maxRequest, unit: "bytes"},
		doc:  "largest request, and so largest record; at least batch.size + 1024"},
	{name: "compression.type", field: "Compression",
		kind: choice[Compression]{at: func(c *Config) *Compression { return &c.Compression }, names: compressionNames},
		doc:  "none, gzip, snappy, lz4 or zstd"},
	{name: "buffer.memory", field: "BufferBytes",
		kind: whole[int64]{at: func(c *Config) *int64 { return &c.BufferBytes }, least: 1, most: math.MaxInt64, unit: "bytes"},
		doc:  "memory for records without an outcome; at least batch.size"},
	{name: "max.block.ms", field: "MaxBlock",
		kind: millis{at: func(c *Config) *time.Duration { return &c.MaxBlock }, unbounded: true},
		doc:  "how long Produce waits for room; 0: fails at once, -1: as long as its context"},
	{name: "max.in.flight.bytes", field: "MaxInFlightBytes",
		kind: whole[int64]{at: func(c *Config) *int64 { return &c.MaxInFlightBytes }, least: 1, most: math.MaxInt64, unit: "bytes"},
		doc:  "bytes in flight on one connection; at least max.request.size"},
	{name: "max.in.flight.sequence.number.per.connection", field: "MaxInFlightSequences",
		kind: whole[int32]{at: func(c *Config) *int32 { return &c.MaxInFlightSequences }, least: 1, most: maxSequences, unit: "sequence numbers"},
		doc:  "records of one partition in flight; only lowers what the broker names (KIP-758)"},
	{name: "sluice.requests.in.flight", field: "RequestsInFlight",
		kind: whole[int]{at: func(c *Config) *int { return &c.RequestsInFlight }, most: math.MaxInt32, unit: "requests"},
		doc:  "requests that a connection carries at once, 0 for as many as bring something"},
	{name: "max.in.flight.batches.per.partition", field: "MaxInFlightBatches",
		kind: whole[int]{at: func(c *Config) *int { return &c.MaxInFlightBatches }, most: math.MaxInt32, unit: "batches"},
		doc:  "batches of one partition in flight; 0: no cap"},
	{name: "connections.per.broker", field: "ConnectionsPerBroker",
		kind: whole[int]{at: func(c *Config) *int { return &c.ConnectionsPerBroker }, least: 1, most: 64, unit: "connections"},
		doc:  "connections to a broker over which its partitions are spread"},
}

var timeProperties = []property{
	{name: "request.timeout.ms", field: "RequestTimeout",
		kind: millis{at: func(c *Config) *time.Duration { return &c.RequestTimeout }, least: time.Millisecond},
		doc:  "how long a request waits for its response"},
	{name: "delivery.timeout.ms", field: "DeliveryTimeout",
		kind: millis{at: func(c *Config) *time.Duration { return &c.DeliveryTimeout }, least: time.Millisecond},
		doc:  "from Produce to the outcome, all attempts included; at least linger.ms + request.timeout.ms"},
	{name: "socket.connection.setup.timeout.ms", field: "DialTimeout",
		kind: millis{at: func(c *Config) *time.Duration { return &c.DialTimeout }, least: time.Millisecond},
		doc:  "setup of a connection: TCP, TLS, versions, SASL"},
	{name: "retry.backoff.ms", field: "RetryBackoff",
		kind: millis{at: func(c *Config) *time.Duration { return &c.RetryBackoff }, least: time.Millisecond},
		doc:  "first pause before another attempt"},
	{name: "retry.backoff.max.ms", field: "RetryBackoffMax",
		kind: millis{at: func(c *Config) *time.Duration { return &c.RetryBackoffMax }, least: time.Millisecond},
		doc:  "longest pause before another attempt"},
	{name: "reconnect.backoff.ms", field: "ReconnectBackoff",
		kind: millis{at: func(c *Config) *time.Duration { return &c.ReconnectBackoff }, least: time.Millisecond},
		doc:  "first pause before a broker is dialled again"},
	{name: "reconnect.backoff.max.ms", field: "ReconnectBackoffMax",
		kind: millis{at: func(c *Config) *time.Duration { return &c.ReconnectBackoffMax }, least: time.Millisecond},
		doc:  "longest pause before a broker is dialled again"},
	{name: "metadata.max.age.ms", field: "MetadataMaxAge",
		kind: millis{at: func(c *Config) *time.Duration { return &c.MetadataMaxAge }, least: time.Millisecond},
		doc:  "age at which metadata is asked for again"},
	{name: "metadata.max.idle.ms", field: "MetadataMaxIdle",
		kind: millis{at: func(c *Config) *time.Duration { return &c.MetadataMaxIdle }, least: time.Millisecond},
		doc:  "time without a record after which a topic is forgotten"},
	{name: "allow.auto.create.topics", field: "AllowAutoCreateTopics",
		kind: flag{at: func(c *Config) *bool { return &c.AllowAutoCreateTopics }},
		doc:  "let the broker create unknown topics for which records wait, if it may"},
	{name: "metadata.cluster.check.enable", field: "CheckCluster",
		kind: flag{at: func(c *Config) *bool { return &c.CheckCluster }},
		doc:  "refuse brokers of another cluster than the first; false: go on in it"},
	{name: "sluice.refusal.grace.ms", field: "RefusalGrace",
		kind: millis{at: func(c *Config) *time.Duration { return &c.RefusalGrace }},
		doc:  "how long records wait while a login, a certificate, rights or versions are refused"},
	{name: "producer.id.expiration.ms", field: "ProducerIDExpiration",
		kind: millis{at: func(c *Config) *time.Duration { return &c.ProducerIDExpiration }, least: time.Millisecond},
		doc:  "the brokers' setting of that name, after which they may forget a producer"},
	{name: "partitioner.ignore.keys", field: "PartitionerIgnoreKeys",
		kind: flag{at: func(c *Config) *bool { return &c.PartitionerIgnoreKeys }},
		doc:  "spread records with a key like those without one"},
}

var securityProperties = []property{
	{name: "security.protocol", field: "SecurityProtocol",
		kind: choice[SecurityProtocol]{at: func(c *Config) *SecurityProtocol { return &c.SecurityProtocol }, names: protocolNames},
		doc:  "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"},
	{name: "ssl.truststore.location", field: "TruststoreLocation",
		kind: path{at: func(c *Config) *string { return &c.TruststoreLocation }},
		doc:  "PEM file of the authorities to trust; none: those of the system"},
	{name: "ssl.truststore.certificates", field: "TruststoreCertificates",
		kind: inlinePEM{at: func(c *Config) *string { return &c.TruststoreCertificates }},
		doc:  "the content of such a file, in place of its path"},
	{name: "ssl.keystore.location", field: "KeystoreLocation",
		kind: path{at: func(c *Config) *string { return &c.KeystoreLocation }},
		doc:  "PEM file of the client's certificate chain, and of its private key if no other property gives that"},
	{name: "ssl.keystore.certificate.chain", field: "KeystoreCertificates",
		kind: inlinePEM{at: func(c *Config) *string { return &c.KeystoreCertificates }},
		doc:  "the content of a PEM file with the chain, in place of its path"},
	{name: "ssl.key.location", field: "KeyLocation",
		kind: path{at: func(c *Config) *string { return &c.KeyLocation }},
		doc:  "PEM file of the client's private key, where that is a file of its own"},
	{name: "ssl.keystore.key", field: "KeystoreKey",
		kind: password{at: func(c *Config) *Secret { return &c.KeystoreKey }},
		doc:  "the content of such a file, in place of its path"},
	{name: "sasl.mechanism", field: "SASLMechanism",
		kind: choice[SASLMechanism]{at: func(c *Config) *SASLMechanism { return &c.SASLMechanism }, names: mechanismNames,
			others: "; for others set the Go field SASL"},
		doc: "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"},
	{name: "sasl.username", field: "SASLUsername",
		kind: text{at: func(c *Config) *string { return &c.SASLUsername }, most: math.MaxInt16},
		doc:  "user to authenticate as"},
	{name: "sasl.password", field: "SASLPassword",
		kind: password{at: func(c *Config) *Secret { return &c.SASLPassword }},
		doc:  "password of that user; spaces around it belong to it"},
	{name: "sluice.allow.plaintext.passwords", field: "AllowPlaintextPasswords",
		kind: flag{at: func(c *Config) *bool { return &c.AllowPlaintextPasswords }},
		doc:  "permit PLAIN on connections without TLS"},
	{name: "sasl.jaas.config", kind: jaas{},
		doc: "user and password in the form of the Java client, PlainLoginModule or ScramLoginModule"},
}
