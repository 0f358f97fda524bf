package producer

import (
	"maps"
	"sync"

	"go.uber.org/atomic"
)

// topicSet is the topics of a lane by their names. Readers take no lock. New topics
// gather in a second map until somebody wants all of them, or until as many have
// looked there as it has topics: so ten thousand new ones are copied a few times,
// and not each with all that came before.
type topicSet struct {
	read atomic.Pointer[map[string]*topic] // never changed once it is here

	mu     sync.Mutex
	all    map[string]*topic // with those that read does not have; nil: read has all
	missed int               // readers that looked into all
}

var noTopics = map[string]*topic{}

func (s *topicSet) known() map[string]*topic {
	if m := s.read.Load(); m != nil {
		return *m
	}
	return noTopics
}

// find returns nil where there is no such topic.
func (s *topicSet) find(name string) *topic {
	if t := s.known()[name]; t != nil {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		return s.known()[name]
	}
	t := s.all[name]
	if s.missed++; s.missed >= len(s.all) {
		s.publish()
	}
	return t
}

// Load returns all topics, in a map that does not change.
func (s *topicSet) Load() *map[string]*topic {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all != nil {
		s.publish()
	}
	m := s.known()
	return &m
}

func (s *topicSet) publish() {
	all := s.all
	s.read.Store(&all)
	s.all, s.missed = nil, 0
}

func (s *topicSet) add(t *topic) {
	s.change(func(all map[string]*topic) { all[t.name] = t })
}

// remove takes a topic out. Whoever reads has the others, and not this one, at once.
func (s *topicSet) remove(name string) {
	s.change(func(all map[string]*topic) { delete(all, name) })
	s.Load()
}

func (s *topicSet) change(do func(map[string]*topic)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = maps.Clone(s.known())
	}
	do(s.all)
}
