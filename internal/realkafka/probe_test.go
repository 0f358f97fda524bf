package realkafka

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Error codes of Kafka's that the pins name.
const (
	none                 = 0
	corruptMessage       = 2
	unknownTopic         = 3
	notLeader            = 6
	requestTimedOut      = 7
	messageTooLarge      = 10
	coordinatorLoading   = 14
	invalidTimestamp     = 32
	invalidConfig        = 40
	outOfOrderSequence   = 45
	duplicateSequence    = 46
	invalidProducerEpoch = 47
)

const (
	produceVersion        = 11
	initProducerIDVersion = 4
	produceTimeout        = 30 * time.Second
	allInSync             = -1
)

// batch is a record batch as the pins write it: count records whose first
// sequence is first.
type batch struct {
	producer int64
	epoch    int16
	first    int32
	count    int
	value    string    // of every record
	at       time.Time // zero: now
	corrupt  bool
}

// encode returns the batch in format v2.
func (b batch) encode() []byte {
	at := b.at
	if at.IsZero() {
		at = time.Now()
	}
	rb := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1,
		Magic:                2,
		LastOffsetDelta:      int32(b.count - 1),
		FirstTimestamp:       at.UnixMilli(),
		MaxTimestamp:         at.UnixMilli(),
		ProducerID:           b.producer,
		ProducerEpoch:        b.epoch,
		FirstSequence:        b.first,
		NumRecords:           int32(b.count),
	}
	for i := range b.count {
		r := kmsg.Record{OffsetDelta: int32(i), Value: []byte(b.value)}
		r.Length = int32(len(r.AppendTo(nil)) - 1)
		rb.Records = r.AppendTo(rb.Records)
	}
	const lengthEnd, crcStart, crcEnd = 12, 17, 21
	out := rb.AppendTo(nil)
	binary.BigEndian.PutUint32(out[lengthEnd-4:], uint32(len(out)-lengthEnd))
	crc := crc32.Checksum(out[crcEnd:], crc32.MakeTable(crc32.Castagnoli))
	if b.corrupt {
		crc++
	}
	binary.BigEndian.PutUint32(out[crcStart:], crc)
	return out
}

// verdict is what a broker answered to a batch.
type verdict struct {
	code   int16
	offset int64
}

func appended(offset int64) verdict { return verdict{none, offset} }
func refused(code int16) verdict    { return verdict{code, -1} }

func (v verdict) String() string { return fmt.Sprintf("code %d, base offset %d", v.code, v.offset) }

// log is a partition that a test writes to, over a connection of its own to a
// node: the leader, unless the test says otherwise.
type log struct {
	t         *testing.T
	cluster   *Cluster
	topic     string
	partition int32
	timeout   time.Duration
	conn      *client
}

var topics atomic.Int32

// newLog creates a topic of one partition for the test.
func newLog(t *testing.T, c *Cluster, replicas int16, configs map[string]string) *log {
	t.Helper()
	name := fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), topics.Add(1))
	check(t, c.CreateTopic(name, 1, replicas, configs))
	l := &log{t: t, cluster: c, topic: name, timeout: produceTimeout}
	return l.at(l.place().leader)
}

// at returns the same log, as reached over a new connection to a node.
func (l log) at(node int) *log {
	l.t.Helper()
	l.conn = connectTo(l.t, l.cluster, node)
	return &l
}

func connectTo(t *testing.T, c *Cluster, node int) *client {
	t.Helper()
	conn, err := dial(c.ListenAddr(node))
	check(t, err)
	t.Cleanup(conn.close)
	return conn
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[R kmsg.Response](t *testing.T, c *client, r kmsg.Request) R {
	t.Helper()
	resp, err := c.call(r)
	check(t, err)
	return resp.(R)
}

func (l *log) request(b batch) *kmsg.ProduceRequest {
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = l.partition, b.encode()
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = l.topic
	topic.Partitions = append(topic.Partitions, p)
	r := kmsg.NewPtrProduceRequest()
	r.SetVersion(produceVersion)
	r.Acks = allInSync
	r.TimeoutMillis = int32(l.timeout.Milliseconds())
	r.Topics = append(r.Topics, topic)
	return r
}

// write sends batches back to back, a request each; answers reads what comes.
func (l *log) write(batches ...batch) {
	l.t.Helper()
	requests := make([]kmsg.Request, len(batches))
	for i, b := range batches {
		requests[i] = l.request(b)
	}
	check(l.t, l.conn.write(requests...))
}

func (l *log) answers(n int) []verdict {
	l.t.Helper()
	verdicts := make([]verdict, n)
	for i := range verdicts {
		p := l.answer().Topics[0].Partitions[0]
		verdicts[i] = verdict{p.ErrorCode, p.BaseOffset}
	}
	return verdicts
}

func (l *log) answer() *kmsg.ProduceResponse {
	l.t.Helper()
	r := kmsg.NewPtrProduceRequest()
	r.SetVersion(produceVersion)
	resp, err := l.conn.answer(r)
	check(l.t, err)
	return resp.(*kmsg.ProduceResponse)
}

// expect sends the batches one after the other and checks each verdict.
func (l *log) expect(want verdict, batches ...batch) {
	l.t.Helper()
	for _, b := range batches {
		l.write(b)
		if got := l.answers(1)[0]; got != want {
			l.t.Errorf("%d records from sequence %d in epoch %d: %v, want %v", b.count, b.first, b.epoch, got, want)
		}
	}
}

// fill appends n batches of size records each from sequence 0 to an empty log,
// so that sequence and offset are the same, and returns them.
func (l *log) fill(producer int64, n, size int) []batch {
	l.t.Helper()
	batches := make([]batch, n)
	for i := range batches {
		batches[i] = batch{producer: producer, first: int32(i * size), count: size, value: "x"}
	}
	l.write(batches...)
	for i, got := range l.answers(n) {
		if want := appended(int64(i * size)); got != want {
			l.t.Fatalf("batch %d: %v, want %v", i, got, want)
		}
	}
	return batches
}

// expectEnd checks how many records the log holds.
func (l *log) expectEnd(want int64) {
	l.t.Helper()
	got, err := l.cluster.nodes[l.place().leader].endOffset(l.topic, l.partition)
	check(l.t, err)
	if got != want {
		l.t.Errorf("the log ends at %d, want %d", got, want)
	}
}

// placement is where a partition lies; -1: there is no such node.
type placement struct {
	leader, follower, outsider int
	epoch                      int32
	inSync                     int // replicas
}

// place asks a node where the log lies; no node may sleep.
func (l *log) place() placement {
	l.t.Helper()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(l.topic)
	r := kmsg.NewPtrMetadataRequest()
	r.SetVersion(metadataVersion)
	r.Topics = append(r.Topics, t)
	resp, err := ask[*kmsg.MetadataResponse](l.cluster.running()[0].client, r)
	check(l.t, err)
	p := resp.Topics[0].Partitions[l.partition]
	place := placement{leader: int(p.Leader), follower: -1, outsider: -1, epoch: p.LeaderEpoch, inSync: len(p.ISR)}
	for id := range l.cluster.nodes {
		switch {
		case id == place.leader:
		case slices.Contains(p.Replicas, int32(id)):
			place.follower = id
		default:
			place.outsider = id
		}
	}
	return place
}

// describe asks a node for the last sequence of a producer, -1 if it knows none.
func (l *log) describe(node int, producer int64) (last int32, code int16) {
	l.t.Helper()
	topic := kmsg.NewDescribeProducersRequestTopic()
	topic.Topic = l.topic
	topic.Partitions = append(topic.Partitions, l.partition)
	r := kmsg.NewPtrDescribeProducersRequest()
	r.Topics = append(r.Topics, topic)
	resp, err := ask[*kmsg.DescribeProducersResponse](l.cluster.ListenAddr(node), r)
	check(l.t, err)
	p := resp.Topics[0].Partitions[0]
	for _, active := range p.ActiveProducers {
		if active.ProducerID == producer {
			return active.LastSequence, p.ErrorCode
		}
	}
	return -1, p.ErrorCode
}

// newProducer asks for a producer id.
func newProducer(t *testing.T, c *Cluster) int64 {
	t.Helper()
	return initProducerID(t, c).ProducerID
}

// A fresh cluster says that it is loading its coordinator; then it is asked
// again.
func initProducerID(t *testing.T, c *Cluster) *kmsg.InitProducerIDResponse {
	t.Helper()
	r := kmsg.NewPtrInitProducerIDRequest()
	r.SetVersion(initProducerIDVersion)
	r.ProducerID, r.ProducerEpoch = -1, -1
	var resp *kmsg.InitProducerIDResponse
	eventually(t, func() bool {
		resp = must[*kmsg.InitProducerIDResponse](t, connectTo(t, c, 0), r)
		return resp.ErrorCode != coordinatorLoading
	})
	if resp.ErrorCode != none {
		t.Fatalf("InitProducerId: code %d", resp.ErrorCode)
	}
	return resp
}

// eventually asks until the answer is yes. It is for what a broker does on its
// own and tells nobody.
func eventually(t *testing.T, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !yes() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("still not after a minute")
		}
	}
}
