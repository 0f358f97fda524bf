// Package cluster holds what is known of a cluster: its brokers, and who leads
// which partition. A Snapshot is immutable. What a broker says makes a new one,
// which shares with the old what has not changed, so that any number of
// goroutines may read one while the control loop makes the next.
//
// The package is pure, and believes nothing that a broker says before it has
// looked at it: brokers lag behind each other, and some lie.
package cluster

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// NoLeader is the Leader of a partition that has none, or none that is known.
const NoLeader = -1

// Broker is a broker's id and address.
type Broker struct {
	ID   int32
	Host string
	Port int32
}

// Addr returns host:port, an IPv6 host in brackets.
func (b Broker) Addr() string {
	host := b.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(b.Port))
}

// Partition is who leads a partition.
type Partition struct {
	Leader      int32 // NoLeader if there is none; else Snapshot.Broker has it
	LeaderEpoch int32 // -1 if the brokers do not say (before Kafka 2.1)
	Err         int16 // the Kafka error code that came with it, 0 for none

	older uint8 // answers in a row with an older epoch than this
}

// Topic is a topic and its partitions.
type Topic struct {
	Name string
	ID   [16]byte // zero if the brokers do not say (before Kafka 2.8)

	// Err is the Kafka error code of the last answer about this topic, 0 for
	// none. The rest stays as it was known before.
	Err int16

	// Partitions has partition i at i. It never shrinks, but when the topic
	// was recreated. Not to be changed.
	Partitions []Partition

	former [16]byte // the id before it was recreated
}

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// Snapshot is what was known at one moment; the zero value knows nothing. Its
// methods may be called by any number of goroutines at once.
//
// The controller is not in it: brokers that use KRaft name one at random, and
// a producer asks it for nothing.
type Snapshot struct {
	ClusterID string // "" if not known

	brokers []Broker // by id
	topics  []*Topic // in the order in which they became known
	index   map[string]int
}

// Topic returns what is known of a topic. It may have no partitions yet, only
// an error. The result is shared and not to be changed.
func (s *Snapshot) Topic(name string) (*Topic, bool) {
	i, ok := s.index[name]
	if !ok {
		return nil, false
	}
	return s.topics[i], true
}

// Broker returns the broker with this id.
func (s *Snapshot) Broker(id int32) (Broker, bool) { return findBroker(s.brokers, id) }

// Brokers returns all brokers by rising id. The slice is shared and not to be
// changed.
func (s *Snapshot) Brokers() []Broker { return s.brokers }

// Leader returns the broker that leads a partition and the epoch of its term.
// False: there is no such partition, or no leader.
func (s *Snapshot) Leader(topic string, partition int32) (leader Broker, epoch int32, ok bool) {
	t, ok := s.Topic(topic)
	if !ok || partition < 0 || int(partition) >= len(t.Partitions) {
		return Broker{}, -1, false
	}
	p := t.Partitions[partition]
	leader, ok = s.Broker(p.Leader)
	return leader, p.LeaderEpoch, ok
}

// Without returns a copy of s that does not know the topic.
func (s *Snapshot) Without(topic string) *Snapshot {
	at, ok := s.index[topic]
	if !ok {
		return s
	}
	next := *s
	next.topics = slices.Delete(slices.Clone(s.topics), at, at+1)
	next.index = make(map[string]int, len(next.topics))
	for i, t := range next.topics {
		next.index[t.Name] = i
	}
	return &next
}

// with returns a copy of s with t in the place of the topic of its name.
func (s *Snapshot) with(t *Topic) *Snapshot {
	next := *s
	next.topics = slices.Clone(s.topics)
	next.topics[s.index[t.Name]] = t
	return &next
}

// clone returns a copy whose partitions may be changed.
func (t *Topic) clone() *Topic {
	next := *t
	next.Partitions = slices.Clone(t.Partitions)
	return &next
}

func findBroker(brokers []Broker, id int32) (Broker, bool) {
	i, ok := slices.BinarySearchFunc(brokers, id, func(b Broker, id int32) int { return cmp.Compare(b.ID, id) })
	if !ok {
		return Broker{}, false
	}
	return brokers[i], true
}

// withBroker returns brokers with b added or in place of the one with its id.
// The argument is left as it is.
func withBroker(brokers []Broker, b Broker) []Broker {
	i, ok := slices.BinarySearchFunc(brokers, b.ID, func(b Broker, id int32) int { return cmp.Compare(b.ID, id) })
	next := slices.Clone(brokers)
	if ok {
		next[i] = b
		return next
	}
	return slices.Insert(next, i, b)
}
