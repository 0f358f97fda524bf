package producertest

import "github.com/twmb/franz-go/pkg/kmsg"

// produceRequest is a Produce request with its batches in order.
type produceRequest struct {
	*kmsg.ProduceRequest
	attempts []attempt
}

// attempt is what a Produce request has for one partition.
type attempt struct {
	topic     string // "": only the ID is known
	id        topicID
	partition int32
	batch     *batch
	number    int // how often the batch was received, from 1
}

func newProduceRequest(q *kmsg.ProduceRequest) *produceRequest {
	p := &produceRequest{ProduceRequest: q}
	for i := range q.Topics {
		t := &q.Topics[i]
		for j := range t.Partitions {
			p.attempts = append(p.attempts, attempt{
				topic: t.Topic, id: t.TopicID, partition: t.Partitions[j].Partition,
				batch: parseBatch(t.Partitions[j].Records, q.Version), number: 1,
			})
		}
	}
	return p
}

// receive completes a request that was read and shows it to the watch.
func (c *Cluster) receive(from *connection, p *produceRequest) {
	for i := range p.attempts {
		a := &p.attempts[i]
		t := c.topics.find(a.topic, a.id)
		if t == nil {
			continue
		}
		a.topic, a.id = t.name, t.id
		if part := t.partition(a.partition); part != nil && a.batch.numbered() {
			_, epoch := part.leadership()
			a.number = c.watch.received(from.peer, a, epoch)
		}
	}
}

// produce serves a Produce request. The hook is asked about all partitions
// first, since some faults concern the whole request.
func (c *connection) produce(p *produceRequest) (kmsg.Response, bool) {
	c.produced++
	faults := make([]Fault, len(p.attempts))
	var all Fault
	for i := range p.attempts {
		f := c.cluster.hooks.produce(c.show(p, &p.attempts[i]))
		faults[i] = f
		all.cut, all.drop, all.straggle = all.cut || f.cut, all.drop || f.drop, all.straggle || f.straggle
	}
	if all.cut {
		return nil, false
	}
	if all.straggle {
		c.straggling = true
		c.tap.cut()
	}
	for _, f := range faults {
		if f.hold != nil && !await(c, f.hold) {
			return nil, false
		}
	}
	resp, failed := c.execute(p, faults)
	switch {
	case all.drop:
		return nil, false
	case p.Acks == 0:
		return nil, !failed // nobody to tell: the connection ends
	}
	return resp, true
}

func (c *connection) show(p *produceRequest, a *attempt) ProduceAttempt {
	h := &a.batch.head
	return ProduceAttempt{
		Broker: c.broker.id, Topic: a.topic, Partition: a.partition,
		Acks: p.Acks, Version: p.Version,
		ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch,
		BaseSequence: h.FirstSequence, Records: h.NumRecords, Bytes: len(a.batch.bytes),
		Connection: c.id, Request: c.produced, Attempt: a.number,
	}
}

// execute appends what is to be appended and composes the response. failed says
// that some partition has an error.
func (c *connection) execute(p *produceRequest, faults []Fault) (resp *kmsg.ProduceResponse, failed bool) {
	resp = p.ResponseKind().(*kmsg.ProduceResponse)
	foreign, next := false, 0
	for _, qt := range p.Topics {
		t := kmsg.NewProduceResponseTopic()
		t.Topic, t.TopicID = qt.Topic, qt.TopicID
		for range qt.Partitions {
			f := faults[next]
			e := c.executeOne(p, &p.attempts[next], f, resp)
			next++
			failed, foreign = failed || e.ErrorCode != codeNone, foreign || f.foreign
			if !f.omit {
				t.Partitions = append(t.Partitions, e)
			}
			if f.double {
				e.ErrorCode = f.doubled
				t.Partitions = append(t.Partitions, e)
			}
		}
		resp.Topics = append(resp.Topics, t)
	}
	if foreign {
		resp.Topics = append(resp.Topics, strangers())
	}
	return resp, failed
}

// strangers is a topic that nobody asked for.
func strangers() kmsg.ProduceResponseTopic {
	t := kmsg.NewProduceResponseTopic()
	t.Topic, t.TopicID = "stranger", topicID{0: 0xff, 15: 1}
	t.Partitions = append(t.Partitions, kmsg.NewProduceResponseTopicPartition())
	return t
}

// executeOne appends for one partition, unless its fault forbids that.
func (c *connection) executeOne(p *produceRequest, a *attempt, f Fault, resp *kmsg.ProduceResponse) kmsg.ProduceResponseTopicPartition {
	e := kmsg.NewProduceResponseTopicPartition()
	e.Partition = a.partition
	res := appended{f.code, -1, -1}
	if !f.refuse {
		res = c.append(p, a, &f)
		if f.replace && res.code == codeNone {
			res.code = f.code
		}
	}
	if f.noOffset {
		res.base = -1
	}
	e.ErrorCode, e.BaseOffset, e.LogAppendTime = res.code, res.base, res.timestamp
	if res.code == codeNone {
		e.LogStartOffset = 0
	}
	for _, i := range f.bad {
		r := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		r.RelativeOffset, r.ErrorMessage = i, kmsg.StringPtr(f.message)
		e.ErrorRecords = append(e.ErrorRecords, r)
	}
	if f.message != "" {
		e.ErrorMessage = kmsg.StringPtr(f.message)
	}
	if f.hint && p.Version >= leaderHintSince {
		c.addHint(&e, f, resp)
	}
	return e
}

// leaderHintSince is the Produce version that can name the leader (KIP-951).
const leaderHintSince = 10

func (c *connection) addHint(e *kmsg.ProduceResponseTopicPartition, f Fault, resp *kmsg.ProduceResponse) {
	e.CurrentLeader.LeaderID, e.CurrentLeader.LeaderEpoch = f.leader, f.leaderEpoch
	b, err := c.cluster.broker(f.leader)
	if err != nil {
		return
	}
	for _, known := range resp.Brokers {
		if known.NodeID == b.id {
			return
		}
	}
	n := kmsg.NewProduceResponseBroker()
	n.NodeID, n.Host, n.Port = b.id, b.host, b.port
	resp.Brokers = append(resp.Brokers, n)
}

// append judges and appends, in the order of checks of a broker: topic and
// partition, leader, the batch by itself, and only then its sequence.
func (c *connection) append(p *produceRequest, a *attempt, f *Fault) appended {
	if p.Acks < -1 || p.Acks > 1 {
		return appended{codeInvalidRequiredAcks, -1, -1}
	}
	name := a.topic
	if p.Version >= 13 {
		name = "" // by ID: the name may be another topic's by now
	}
	t := c.cluster.topics.find(name, a.id)
	if t == nil && p.Version >= 13 {
		return appended{codeUnknownTopicID, -1, -1}
	}
	part := t.partition(a.partition)
	if part == nil {
		return appended{codeUnknownTopic, -1, -1}
	}
	res := appended{codeNotLeader, -1, -1}
	if leader, _ := part.leadership(); leader == c.broker.id {
		if code := a.batch.check(c.cluster.cfg.MaxMessageBytes); code != codeNone {
			return appended{code, -1, -1}
		}
		res = part.append(c.broker.id, c.broker.window, a.batch)
	}
	if res.code == codeNotLeader {
		f.hint = true
		f.leader, f.leaderEpoch = part.leadership()
	}
	return res
}
