package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	maxPartitions = 1 << 20
	maxClusterID  = 255
	maxProblems   = 8

	// maxOlder is how many answers in a row may be ignored because their
	// leader epoch is older than the known one. Brokers that lag catch up long
	// before; if they keep saying so the known epoch was wrong, and without a
	// bound one absurd epoch would cut a partition off for ever.
	maxOlder = 5

	leaderNotAvailable      = 5
	unknownTopicOrPartition = 3
)

var noID [16]byte

// Changes is what an answer changed, for whoever has to act on it. All lists
// are in the order of the answer.
type Changes struct {
	Recreated   []string         // topics with a new id: new logs, K36
	Grown       []string         // topics with more partitions than before, new and recreated ones too
	Moved       []TopicPartition // known before, now with another leader or leader epoch
	Readdressed []int32          // brokers known before, now at another address, K55
	Missing     []string         // topics asked for and not found in the answer, K42

	// OtherCluster: the answer came from another cluster, as after an address
	// was given to somebody else, and nothing of it was taken over.
	OtherCluster bool

	// Problems says what was not believed, for a log: a few lines, safe to show.
	Problems []string
}

// Merge takes a Metadata response over and returns the new snapshot, or s if
// nothing changed. Only topics that were asked for are looked at.
//
// What the response does not mention stays as it is (K42). Leader epochs only
// go up, but when the topic was recreated (KIP-320). Brokers that are no longer
// listed are forgotten, except if they still lead a partition.
func (s *Snapshot) Merge(resp *kmsg.MetadataResponse, asked []string) (*Snapshot, Changes) {
	m := merger{was: s, next: *s}
	if id := resp.ClusterID; id != nil && *id != "" && *id != s.ClusterID && len(*id) <= maxClusterID {
		if s.ClusterID != "" {
			return s, Changes{OtherCluster: true}
		}
		m.next.ClusterID, m.changed = *id, true
	}
	listed := m.listed(resp.Brokers)
	m.next.brokers = union(s.brokers, listed)
	m.next.topics = slices.Clone(s.topics)
	m.topics(resp.Topics, asked)
	if len(listed) > 0 {
		m.forgetBrokers(listed)
	}
	if !slices.Equal(s.brokers, m.next.brokers) {
		m.changed = true
	}
	if !m.changed {
		return s, m.changes
	}
	return &m.next, m.changes
}

// merger is one Merge under way.
type merger struct {
	was     *Snapshot
	next    Snapshot
	changes Changes
	changed bool
	indexed bool // the index is not shared any more
}

// put sets a topic. The index is copied once, however many topics are new.
func (m *merger) put(t *Topic) {
	s := &m.next
	if i, ok := s.index[t.Name]; ok {
		s.topics[i] = t
		return
	}
	if !m.indexed {
		m.indexed = true
		index := make(map[string]int, len(s.index)+1)
		maps.Copy(index, s.index)
		s.index = index
	}
	s.index[t.Name] = len(s.topics)
	s.topics = append(s.topics, t)
}

func (m *merger) problemf(format string, args ...any) {
	if len(m.changes.Problems) < maxProblems {
		m.changes.Problems = append(m.changes.Problems, fmt.Sprintf(format, args...))
	}
}

// listed returns the brokers of a response that can be believed, by id.
func (m *merger) listed(brokers []kmsg.MetadataResponseBroker) []Broker {
	if len(brokers) > maxBrokers {
		m.problemf("%d brokers, only the first %d are used", len(brokers), maxBrokers)
		brokers = brokers[:maxBrokers]
	}
	listed := make([]Broker, 0, len(brokers))
	for i := range brokers {
		b := Broker{ID: brokers[i].NodeID, Host: brokers[i].Host, Port: brokers[i].Port}
		if !b.valid() {
			m.problemf("broker %d at %.100q:%d cannot be dialled", b.ID, b.Host, b.Port)
			continue
		}
		listed = append(listed, b)
	}
	slices.SortStableFunc(listed, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	listed = slices.CompactFunc(listed, func(a, b Broker) bool { return a.ID == b.ID }) // the first wins
	for _, b := range listed {
		if known, ok := m.was.Broker(b.ID); ok && known != b {
			m.changes.Readdressed = append(m.changes.Readdressed, b.ID)
		}
	}
	return listed
}

// union returns the brokers of both, those of listed where both have one.
func union(known, listed []Broker) []Broker {
	all := slices.Clone(listed)
	for _, b := range known {
		if _, ok := findBroker(listed, b.ID); !ok {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// forgetBrokers drops what is not listed and leads nothing.
func (m *merger) forgetBrokers(listed []Broker) {
	if len(listed) == len(m.next.brokers) {
		return
	}
	leads := make(map[int32]bool)
	for _, t := range m.next.topics {
		for _, p := range t.Partitions {
			leads[p.Leader] = true
		}
	}
	m.next.brokers = slices.DeleteFunc(m.next.brokers, func(b Broker) bool {
		_, ok := findBroker(listed, b.ID)
		return !ok && !leads[b.ID]
	})
}

// topics merges those that were asked for. If one is there twice the first
// counts.
func (m *merger) topics(topics []kmsg.MetadataResponseTopic, asked []string) {
	open := make(map[string]bool, len(asked))
	for _, name := range asked {
		open[name] = true
	}
	for i := range topics {
		if t := &topics[i]; t.Topic != nil && open[*t.Topic] {
			open[*t.Topic] = !m.topic(*t.Topic, t)
		}
	}
	for _, name := range asked {
		if open[name] {
			m.changes.Missing = append(m.changes.Missing, name)
			open[name] = false // asked for twice
		}
	}
}
