package cluster

// LeaderHint is what a broker that does not lead a partition says about who
// does, inside its answer to a Produce (KIP-951).
type LeaderHint struct {
	Topic     string
	TopicID   [16]byte // of the topic when the request was made, zero if not known
	Partition int32

	Leader      int32
	LeaderEpoch int32
	Endpoint    *Broker // where the leader is, nil if the broker did not say
}

// Hint takes a hint over and returns the snapshot with it, or s and false if it
// is no better than what is known. It must name a partition that is known, of
// the topic as it is now, a strictly newer leader epoch, and a broker that is
// known or comes with its address. No other broker is touched (K08).
func (s *Snapshot) Hint(h LeaderHint) (*Snapshot, bool) {
	t, ok := s.Topic(h.Topic)
	if !ok || h.Partition < 0 || int(h.Partition) >= len(t.Partitions) || h.LeaderEpoch <= t.Partitions[h.Partition].LeaderEpoch {
		return s, false
	}
	// The epochs of a topic that was deleted meanwhile say nothing about the
	// one that has its name now, and are usually higher.
	if h.TopicID != t.ID && h.TopicID != noID && t.ID != noID {
		return s, false
	}
	brokers := s.brokers
	if e := h.Endpoint; e != nil && e.ID == h.Leader && e.valid() {
		brokers = withBroker(brokers, *e)
	} else if _, known := s.Broker(h.Leader); !known {
		return s, false
	}
	t = t.clone()
	t.Partitions[h.Partition] = Partition{Leader: h.Leader, LeaderEpoch: h.LeaderEpoch}
	next := s.with(t)
	next.brokers = brokers
	return next, true
}
