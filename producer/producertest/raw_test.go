package producertest

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// client is a hand-written client: it does what the test says, right or wrong.
type client struct {
	t    testing.TB
	conn net.Conn
	next int32 // correlation ID
	sent []kmsg.Request
	fmt  *kmsg.RequestFormatter
}

// dial connects to a broker and says nothing yet.
func dial(t testing.TB, c *Cluster, broker int) *client {
	t.Helper()
	conn, err := c.Dial(context.Background(), "tcp", c.Addrs()[broker])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{t: t, conn: conn, fmt: kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw"))}
}

// connect dials and asks for the versions, as every client does first.
func connect(t testing.TB, c *Cluster, broker int) *client {
	t.Helper()
	r := dial(t, c, broker)
	r.ask(apiVersionsRequest(3))
	return r
}

func apiVersionsRequest(version int16) *kmsg.ApiVersionsRequest {
	q := kmsg.NewPtrApiVersionsRequest()
	q.Version, q.ClientSoftwareName, q.ClientSoftwareVersion = version, "raw", "1"
	return q
}

// send writes requests, in one piece, and does not wait.
func (r *client) send(qs ...kmsg.Request) {
	r.t.Helper()
	var b []byte
	for _, q := range qs {
		b = append(b, r.fmt.AppendRequest(nil, q, r.next)...)
		r.next++
		r.sent = append(r.sent, q)
	}
	if _, err := r.conn.Write(b); err != nil {
		r.t.Fatalf("write: %v", err)
	}
}

// frame reads one response, or the error that ends the connection.
func (r *client) frame() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r.conn, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r.conn, b)
	return b, err
}

// recv reads the answer to the oldest request without one.
func (r *client) recv() kmsg.Response {
	r.t.Helper()
	q := r.sent[0]
	b, err := r.frame()
	if err != nil {
		r.t.Fatalf("read: %v", err)
	}
	if id := int32(binary.BigEndian.Uint32(b)); id != r.next-int32(len(r.sent)) {
		r.t.Fatalf("correlation ID %d", id)
	}
	r.sent = r.sent[1:]
	b = b[4:]
	m := q.ResponseKind()
	if m.IsFlexible() && m.Key() != keyApiVersions {
		b = b[1:]
	}
	if err := m.ReadFrom(b); err != nil {
		r.t.Fatalf("response: %v", err)
	}
	return m
}

// ask sends and waits for the answer.
func (r *client) ask(q kmsg.Request) kmsg.Response {
	r.t.Helper()
	r.send(q)
	return r.recv()
}

// end waits for the connection to end and returns why it did.
func (r *client) end() error {
	for {
		if _, err := r.frame(); err != nil {
			return err
		}
	}
}

// abandon closes the connection with a reset, as a client does that does not
// know what became of its requests.
func (r *client) abandon() {
	r.conn.(interface{ SetLinger(int) error }).SetLinger(0)
	r.conn.Close()
}

// seq is a batch by what matters of it.
type seq struct {
	id      int64
	epoch   int16
	base    int32
	records int32
	value   string // of all its records
}

// encode encodes the batch, uncompressed.
func (s seq) encode() []byte {
	const ms = 1_700_000_000_000
	h := kmsg.NewRecordBatch()
	h.Magic, h.PartitionLeaderEpoch = 2, -1
	h.ProducerID, h.ProducerEpoch, h.FirstSequence = s.id, s.epoch, s.base
	h.NumRecords, h.LastOffsetDelta = s.records, s.records-1
	h.FirstTimestamp, h.MaxTimestamp = ms, ms+int64(s.records-1)
	for i := range s.records {
		rec := kmsg.Record{OffsetDelta: i, TimestampDelta64: int64(i), Value: []byte(s.value)}
		body := rec.AppendTo(nil)[1:] // without the length, which is 0 yet
		h.Records = append(binary.AppendVarint(h.Records, int64(len(body))), body...)
	}
	h.Length = int32(headerBytes - sizeBytes + len(h.Records))
	b := h.AppendTo(nil)
	fixCRC(b)
	return b
}

func fixCRC(b []byte) {
	binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[attributesAt:], castagnoli))
}

// on makes a Produce request (version 12, acks=all) of it.
func (s seq) on(topic string, partition int32) *kmsg.ProduceRequest {
	return produceRaw(topic, partition, s.encode())
}

func produceRaw(topic string, partition int32, records []byte) *kmsg.ProduceRequest {
	q := kmsg.NewPtrProduceRequest()
	q.Version, q.Acks, q.TimeoutMillis = 12, -1, 1000
	addPartition(q, topic, partition, records)
	return q
}

func addPartition(q *kmsg.ProduceRequest, topic string, partition int32, records []byte) {
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	for i := range q.Topics {
		if q.Topics[i].Topic == topic {
			q.Topics[i].Partitions = append(q.Topics[i].Partitions, p)
			return
		}
	}
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
}

// answer is what a Produce response says of one partition.
type answer struct {
	code int16
	base int64
}

func (r *client) produced() answer {
	r.t.Helper()
	m := r.recv().(*kmsg.ProduceResponse)
	p := m.Topics[0].Partitions[0]
	return answer{p.ErrorCode, p.BaseOffset}
}

// produce sends a batch to t/0 and waits.
func (r *client) produce(s seq) answer {
	r.t.Helper()
	r.send(s.on("t", 0))
	return r.produced()
}

// want compares.
func want[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// patience is how long a test waits for what must happen, before it says that
// it hangs.
const patience = 30 * time.Second
