package producertest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// topicID is what tells a topic from an earlier one of the same name.
type topicID = [16]byte

// topic is immutable; AddPartitions puts another one in its place.
type topic struct {
	name       string
	id         topicID
	partitions []*partition
}

// partition returns nil for a number that the topic does not have.
func (t *topic) partition(n int32) *partition {
	if t == nil || n < 0 || int(n) >= len(t.partitions) {
		return nil
	}
	return t.partitions[n]
}

// topics are the topics of a cluster.
type topics struct {
	brokers int32
	rules   partitionRules

	mu      sync.Mutex
	byName  map[string]*topic
	byID    map[topicID]*topic
	created uint64
}

func newTopics(brokers int32, rules partitionRules) *topics {
	return &topics{
		brokers: brokers, rules: rules,
		byName: make(map[string]*topic), byID: make(map[topicID]*topic),
	}
}

// find looks for a topic by its name, or, where a request gives no name, by ID.
func (ts *topics) find(name string, id topicID) *topic {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if name != "" {
		return ts.byName[name]
	}
	return ts.byID[id]
}

// named is find for the functions of Cluster.
func (ts *topics) named(name string) (*topic, error) {
	if t := ts.find(name, topicID{}); t != nil && name != "" {
		return t, nil
	}
	return nil, fmt.Errorf("producertest: no topic %q", name)
}

func (ts *topics) all() []*topic {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return slices.SortedFunc(maps.Values(ts.byName), func(a, b *topic) int {
		return strings.Compare(a.name, b.name)
	})
}

// create returns nil if the topic exists.
func (ts *topics) create(name string, partitions int32) *topic {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.byName[name] != nil {
		return nil
	}
	ts.created++
	t := &topic{name: name}
	copy(t.id[:], "sluice00")
	binary.BigEndian.PutUint64(t.id[8:], ts.created)
	ts.put(ts.grown(t, partitions))
	return ts.byName[name]
}

// grown is a copy of t with more partitions.
func (ts *topics) grown(t *topic, add int32) *topic {
	g := &topic{name: t.name, id: t.id, partitions: slices.Clone(t.partitions)}
	for range add {
		n := int32(len(g.partitions))
		g.partitions = append(g.partitions, newPartition(ts.rules, n%ts.brokers))
	}
	return g
}

func (ts *topics) put(t *topic) {
	ts.byName[t.name], ts.byID[t.id] = t, t
}

func (ts *topics) addPartitions(name string, add int32) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byName[name]
	if t == nil {
		return false
	}
	ts.put(ts.grown(t, add))
	return true
}

func (ts *topics) remove(name string) *topic {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byName[name]
	if t != nil {
		delete(ts.byName, name)
		delete(ts.byID, t.id)
	}
	return t
}
