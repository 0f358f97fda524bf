package producertest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
)

// Limits of a broker with Apache Kafka's defaults.
const (
	defaultMessageBytes = 1048588   // message.max.bytes
	defaultRequestBytes = 104857600 // socket.request.max.bytes
	maxWindow           = 1 << 30   // beyond it, sequences behind and ahead overlap (KIP-758)

	defaultExpirationCheck = 10 * time.Minute // producer.id.expiration.check.interval.ms
)

// Config says what cluster to start. The zero value is one stock broker on a
// loopback port, without topics. New copies what it needs.
type Config struct {
	// Brokers is the number of brokers. Their node IDs are 0 to Brokers-1.
	// 0 means 1.
	Brokers int

	// SequenceWindow, in sequences, makes the brokers speak KIP-758: they name
	// it in tagged field 758 of the ApiVersions (v3 and later) and
	// InitProducerId (v2 and later) responses, as an INT32 in network order,
	// and judge by it. 0 is a stock broker, which remembers the latest five
	// batches of a producer. At most 2^30.
	SequenceWindow int32

	// BrokerWindows overrides SequenceWindow for single brokers, by node ID;
	// 0 makes that broker a stock one.
	BrokerWindows map[int32]int32

	// FirstMustBeZero is the rule of Kafka 4.5 and later: a partition that
	// never held a record takes no other first sequence than 0
	// (KAFKA-15591). Without it, as in 2.5 to 4.4, any is taken.
	FirstMustBeZero bool

	// Topics are created at the start: name to number of partitions.
	// Partition p is led by broker p modulo Brokers.
	Topics map[string]int32

	// AutoCreateTopics is the number of partitions of a topic that a metadata
	// request creates, if it allows that. 0 creates none: such a topic is
	// answered with UNKNOWN_TOPIC_OR_PARTITION.
	AutoCreateTopics int32

	// MaxMessageBytes is the largest batch taken, in bytes; a larger one is
	// answered with MESSAGE_TOO_LARGE. 0 means 1,048,588, Kafka's default.
	MaxMessageBytes int32

	// MaxRequestBytes is the largest request read; a larger one ends the
	// connection without an answer. 0 means 104,857,600, Kafka's default.
	MaxRequestBytes int32

	// LogAppendTime makes the brokers put their own time on all records.
	LogAppendTime bool

	// MaxVersions lowers the highest version that is offered of a request, by
	// its key, to play an older broker; -1 takes the request away. An
	// ApiVersions request above its limit is answered as UNSUPPORTED_VERSION
	// in version 0 (KIP-511); any other ends the connection.
	MaxVersions map[int16]int16

	// ProducerIDExpiration makes the brokers forget producers, as
	// producer.id.expiration.ms does: by the greatest timestamp of a producer's
	// last batch in a partition, not by when it came in. 0: never.
	ProducerIDExpiration time.Duration

	// ProducerIDExpirationCheck is how often they look for some to forget
	// (producer.id.expiration.check.interval.ms). 0 means 10 minutes, Kafka's
	// default.
	ProducerIDExpirationCheck time.Duration

	// InMemory starts a cluster without sockets: the addresses mean something
	// to Cluster.Dial only. Such a cluster may be used inside a
	// testing/synctest bubble if it is also started and closed in there.
	InMemory bool

	// TLS, if set, makes every connection a TLS one. It needs a certificate.
	TLS *tls.Config

	// Users, if not empty, makes every connection authenticate by SASL, with
	// PLAIN or SCRAM-SHA-256: name to password.
	Users map[string]string
}

var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

func validTopic(name string) bool {
	return topicName.MatchString(name) && name != "." && name != ".."
}

// withDefaults returns a copy with every zero filled in, and all faults found.
func (c Config) withDefaults() (Config, error) {
	var faults []error
	bad := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("producertest: "+format, args...))
	}
	if c.Brokers < 0 {
		bad("%d brokers", c.Brokers)
	}
	if c.AutoCreateTopics < 0 || c.MaxMessageBytes < 0 || c.MaxRequestBytes < 0 {
		bad("a negative limit")
	}
	for _, id := range slices.Sorted(maps.Keys(c.BrokerWindows)) {
		if w := c.BrokerWindows[id]; w < 0 || w > maxWindow {
			bad("window %d of broker %d is not in 0..2^30", w, id)
		}
	}
	if c.ProducerIDExpiration < 0 || c.ProducerIDExpirationCheck < 0 {
		bad("a negative expiration of producer IDs, or interval between two looks")
	}
	if c.SequenceWindow < 0 || c.SequenceWindow > maxWindow {
		bad("window %d is not in 0..2^30", c.SequenceWindow)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Topics)) {
		if !validTopic(name) || c.Topics[name] < 1 {
			bad("topic %q with %d partitions", name, c.Topics[name])
		}
	}
	c.Brokers = max(c.Brokers, 1)
	c.MaxMessageBytes = orDefault(c.MaxMessageBytes, defaultMessageBytes)
	c.MaxRequestBytes = orDefault(c.MaxRequestBytes, defaultRequestBytes)
	if c.ProducerIDExpirationCheck == 0 {
		c.ProducerIDExpirationCheck = defaultExpirationCheck
	}
	c.BrokerWindows = maps.Clone(c.BrokerWindows)
	c.MaxVersions = maps.Clone(c.MaxVersions)
	c.Users = maps.Clone(c.Users)
	return c, errors.Join(faults...)
}

func orDefault(v, def int32) int32 {
	if v == 0 {
		return def
	}
	return v
}

// partitionRules is what the partitions of a cluster that starts now have in
// common.
func (c *Config) partitionRules() partitionRules {
	return partitionRules{
		firstMustBeZero: c.FirstMustBeZero,
		logAppendTime:   c.LogAppendTime,
		expiry:          expiry{c.ProducerIDExpiration, c.ProducerIDExpirationCheck, time.Now()},
	}
}

// window is the sequence window of one broker, 0 for a stock one.
func (c *Config) window(broker int32) int32 {
	if w, ok := c.BrokerWindows[broker]; ok {
		return w
	}
	return c.SequenceWindow
}
