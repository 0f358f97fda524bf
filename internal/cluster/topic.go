package cluster

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// topic merges what a response says about one topic, and reports whether it
// says anything of use.
func (m *merger) topic(name string, answer *kmsg.MetadataResponseTopic) bool {
	known, ok := m.next.Topic(name)
	if !ok {
		known = &Topic{Name: name}
	}
	if known.former != noID && answer.TopicID == known.former {
		m.problemf("topic %q has its former id again: the broker is behind", name)
		return false
	}
	var next *Topic
	if answer.ErrorCode != 0 {
		next = known.failed(answer.ErrorCode)
	} else {
		next = m.described(known, answer)
	}
	if !ok || !next.equal(known) {
		m.put(next)
		m.changed = true
	}
	return true
}

// failed returns t after an answer that has nothing but an error.
func (t *Topic) failed(code int16) *Topic {
	next := t.clone()
	next.Err = code
	if code == unknownTopicOrPartition && t.ID == noID {
		// Without topic ids this is all that can be seen of a topic being
		// recreated; its leader epochs may begin anew (K36).
		for i := range next.Partitions {
			next.Partitions[i].LeaderEpoch = -1
		}
	}
	return next
}

// described returns known after an answer that describes its partitions.
func (m *merger) described(known *Topic, answer *kmsg.MetadataResponseTopic) *Topic {
	next := known.clone()
	next.Err = 0
	if id := answer.TopicID; id != noID && id != known.ID {
		next.ID = id
		if known.ID != noID {
			next.former, next.Partitions = known.ID, nil
			m.changes.Recreated = append(m.changes.Recreated, known.Name)
		}
	}
	before := len(next.Partitions)
	believed := m.sizeOf(next, answer.Partitions)
	for len(next.Partitions) < believed {
		next.Partitions = append(next.Partitions, Partition{Leader: NoLeader, LeaderEpoch: -1, Err: leaderNotAvailable})
	}
	m.partitions(next, answer.Partitions, before)
	if len(next.Partitions) > before {
		m.changes.Grown = append(m.changes.Grown, known.Name)
	}
	return next
}

// sizeOf returns how many partitions an answer speaks of. Kafka numbers them
// from 0 without gaps, but a broker that lags may leave some out, so gaps are
// taken, unless they would cost much memory for little data.
func (m *merger) sizeOf(t *Topic, answer []kmsg.MetadataResponseTopicPartition) int {
	limit := min(len(t.Partitions)+2*len(answer), maxPartitions)
	size := 0
	for i := range answer {
		switch p := int(answer[i].Partition); {
		case p < 0 || p >= limit:
			m.problemf("topic %q has %d partitions, and one numbered %d", t.Name, len(answer), answer[i].Partition)
		default:
			size = max(size, p+1)
		}
	}
	return size
}

// partitions merges the answer into t, whose first before partitions were known
// already. If one is there twice the first counts.
func (m *merger) partitions(t *Topic, answer []kmsg.MetadataResponseTopicPartition, before int) {
	seen := make([]bool, len(t.Partitions))
	for i := range answer {
		a := &answer[i]
		if a.Partition < 0 || int(a.Partition) >= len(seen) || seen[a.Partition] {
			continue
		}
		seen[a.Partition] = true
		p := &t.Partitions[a.Partition]
		was := *p
		m.partition(p, a)
		if int(a.Partition) < before && (p.Leader != was.Leader || p.LeaderEpoch != was.LeaderEpoch) {
			m.changes.Moved = append(m.changes.Moved, TopicPartition{t.Name, a.Partition})
		}
	}
}

func (m *merger) partition(p *Partition, answer *kmsg.MetadataResponseTopicPartition) {
	epoch := max(answer.LeaderEpoch, -1)
	if epoch >= 0 && epoch < p.LeaderEpoch {
		if p.older++; p.older < maxOlder {
			return
		}
	}
	next := Partition{Leader: answer.Leader, LeaderEpoch: epoch, Err: answer.ErrorCode}
	if _, ok := m.next.Broker(answer.Leader); !ok {
		if answer.Leader >= 0 {
			m.problemf("broker %d leads a partition and is not in the list of brokers", answer.Leader)
		}
		next.Leader = NoLeader
		if next.Err == 0 {
			next.Err = leaderNotAvailable
		}
	}
	*p = next
}

func (t *Topic) equal(u *Topic) bool {
	return t.ID == u.ID && t.Err == u.Err && t.former == u.former && slices.Equal(t.Partitions, u.Partitions)
}
