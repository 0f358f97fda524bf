package producertest

import "github.com/twmb/franz-go/pkg/kmsg"

// What a ListOffsets request may ask for instead of a time.
const (
	latestOffset   = -1
	earliestOffset = -2
	maxTimestamp   = -3 // of the record with the greatest timestamp (KIP-734)
)

func (c *connection) listOffsets(q *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := q.ResponseKind().(*kmsg.ListOffsetsResponse)
	for _, qt := range q.Topics {
		t := kmsg.NewListOffsetsResponseTopic()
		t.Topic = qt.Topic
		topic := c.cluster.topics.find(qt.Topic, topicID{})
		for i := range qt.Partitions {
			e := kmsg.NewListOffsetsResponseTopicPartition()
			e.Partition = qt.Partitions[i].Partition
			e.Offset, e.Timestamp, e.LeaderEpoch = -1, -1, -1
			if p := topic.partition(e.Partition); p != nil {
				p.listOffset(c.broker.id, &qt.Partitions[i], &e)
			} else {
				e.ErrorCode = codeUnknownTopic
			}
			t.Partitions = append(t.Partitions, e)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func (p *partition) listOffset(broker int32, q *kmsg.ListOffsetsRequestTopicPartition, e *kmsg.ListOffsetsResponseTopicPartition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.ErrorCode = p.serves(broker, q.CurrentLeaderEpoch); e.ErrorCode != codeNone {
		return
	}
	e.LeaderEpoch = p.epoch
	switch q.Timestamp {
	case latestOffset:
		e.Offset = p.end
	case earliestOffset:
		e.Offset = 0
	case maxTimestamp:
		e.Offset, e.Timestamp = p.greatest()
	default:
		e.Offset, e.Timestamp = p.firstSince(q.Timestamp)
	}
}

// greatest is the first record with the greatest timestamp; -1, -1 if the log
// is empty.
func (p *partition) greatest() (offset, timestamp int64) {
	timestamp = -1
	for _, s := range p.log {
		timestamp = max(timestamp, s.maxTimestamp)
	}
	return p.firstSince(timestamp)
}

// firstSince is the first record with a timestamp not before ms; -1, -1 if
// there is none.
func (p *partition) firstSince(ms int64) (offset, timestamp int64) {
	for _, s := range p.log {
		if s.maxTimestamp < ms {
			continue
		}
		records, err := decodeRecords(s.bytes)
		if err != nil {
			continue
		}
		for _, r := range records {
			if t := r.Timestamp.UnixMilli(); t >= ms {
				return r.Offset, t
			}
		}
	}
	return -1, -1
}

func (c *connection) offsetForLeaderEpoch(q *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	resp := q.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for _, qt := range q.Topics {
		t := kmsg.NewOffsetForLeaderEpochResponseTopic()
		t.Topic = qt.Topic
		topic := c.cluster.topics.find(qt.Topic, topicID{})
		for i := range qt.Partitions {
			e := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			e.Partition = qt.Partitions[i].Partition
			e.LeaderEpoch, e.EndOffset = -1, -1
			if p := topic.partition(e.Partition); p != nil {
				p.epochEnd(c.broker.id, &qt.Partitions[i], &e)
			} else {
				e.ErrorCode = codeUnknownTopic
			}
			t.Partitions = append(t.Partitions, e)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// epochEnd finds where the newest leader epoch not after the one asked for
// ended (KIP-320).
func (p *partition) epochEnd(broker int32, q *kmsg.OffsetForLeaderEpochRequestTopicPartition, e *kmsg.OffsetForLeaderEpochResponseTopicPartition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.ErrorCode = p.serves(broker, q.CurrentLeaderEpoch); e.ErrorCode != codeNone {
		return
	}
	for i, s := range p.epochs {
		if s.epoch > q.LeaderEpoch {
			return
		}
		e.LeaderEpoch, e.EndOffset = s.epoch, p.end
		if i+1 < len(p.epochs) {
			e.EndOffset = p.epochs[i+1].offset
		}
	}
	if q.LeaderEpoch > p.epoch {
		e.LeaderEpoch, e.EndOffset = -1, -1
	}
}
