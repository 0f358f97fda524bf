package producertest

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetch serves a Fetch request. It waits for MinBytes, up to MaxWait. Fetch
// sessions are declined (KIP-227): every request names all it wants.
func (c *connection) fetch(q *kmsg.FetchRequest) kmsg.Response {
	changed := make(chan struct{}, 1)
	for _, p := range c.fetched(q) {
		p.await(changed)
		defer p.forget(changed)
	}
	wait := time.NewTimer(time.Duration(max(q.MaxWaitMillis, 0)) * time.Millisecond)
	defer wait.Stop()
	for {
		resp, bytes, failed := c.readLogs(q)
		if bytes >= int(q.MinBytes) || failed {
			return resp
		}
		select {
		case <-changed:
		case <-wait.C:
			return resp
		case <-c.gone:
			return resp
		case <-c.cluster.done:
			return resp
		}
	}
}

// fetched are the partitions of a request that exist.
func (c *connection) fetched(q *kmsg.FetchRequest) []*partition {
	var ps []*partition
	for _, t := range q.Topics {
		topic := c.cluster.topics.find(t.Topic, t.TopicID)
		for _, qp := range t.Partitions {
			if p := topic.partition(qp.Partition); p != nil {
				ps = append(ps, p)
			}
		}
	}
	return ps
}

// readLogs answers with what is there now. failed says that some partition has
// an error, which is not waited with.
func (c *connection) readLogs(q *kmsg.FetchRequest) (resp *kmsg.FetchResponse, bytes int, failed bool) {
	resp = q.ResponseKind().(*kmsg.FetchResponse)
	for _, qt := range q.Topics {
		t := kmsg.NewFetchResponseTopic()
		t.Topic, t.TopicID = qt.Topic, qt.TopicID
		topic := c.cluster.topics.find(qt.Topic, qt.TopicID)
		for i := range qt.Partitions {
			e := kmsg.NewFetchResponseTopicPartition()
			e.Partition = qt.Partitions[i].Partition
			e.HighWatermark = -1
			limit := int(min(q.MaxBytes, qt.Partitions[i].PartitionMaxBytes))
			switch p := topic.partition(e.Partition); {
			case topic == nil && q.Version >= 13:
				e.ErrorCode = codeUnknownTopicID
			case p == nil:
				e.ErrorCode = codeUnknownTopic
			default:
				p.read(c.broker.id, &qt.Partitions[i], min(limit, int(q.MaxBytes)-bytes), bytes == 0, &e)
			}
			c.nameLeader(q, &e, resp)
			bytes += len(e.RecordBatches)
			failed = failed || e.ErrorCode != codeNone
			t.Partitions = append(t.Partitions, e)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp, bytes, failed
}

// nameLeader adds the endpoint of a leader that read put into e (KIP-951).
func (c *connection) nameLeader(q *kmsg.FetchRequest, e *kmsg.FetchResponseTopicPartition, resp *kmsg.FetchResponse) {
	b, err := c.cluster.broker(e.CurrentLeader.LeaderID)
	if q.Version < 16 || err != nil {
		return
	}
	n := kmsg.NewFetchResponseBroker()
	n.NodeID, n.Host, n.Port = b.id, b.host, b.port
	resp.Brokers = append(resp.Brokers, n)
}

// read puts whole batches into e, at most limit bytes of them; one at least if
// it must.
func (p *partition) read(broker int32, q *kmsg.FetchRequestTopicPartition, limit int, must bool, e *kmsg.FetchResponseTopicPartition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.ErrorCode = p.serves(broker, q.CurrentLeaderEpoch); e.ErrorCode != codeNone {
		e.CurrentLeader.LeaderID, e.CurrentLeader.LeaderEpoch = p.leader, p.epoch
		return
	}
	e.HighWatermark, e.LastStableOffset, e.LogStartOffset = p.end, p.end, 0
	if q.FetchOffset < 0 || q.FetchOffset > p.end {
		e.ErrorCode = codeOffsetOutOfRange
		return
	}
	e.RecordBatches = []byte{}
	for _, s := range p.log[p.find(q.FetchOffset):] {
		if first := must && len(e.RecordBatches) == 0; !first && len(e.RecordBatches)+len(s.bytes) > limit {
			return
		}
		e.RecordBatches = append(e.RecordBatches, s.bytes...)
	}
}

// serves says whether a broker may serve a request about the partition that
// gives the leader epoch it believes in, -1 for none (KIP-320).
func (p *partition) serves(broker, epoch int32) int16 {
	switch {
	case p.leader != broker:
		return codeNotLeader
	case epoch >= 0 && epoch < p.epoch:
		return codeFencedLeaderEpoch
	case epoch > p.epoch:
		return codeUnknownLeaderEpoch
	}
	return codeNone
}
