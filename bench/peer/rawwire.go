package peer

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	rawRecordBytes   = 24 // more than a record adds to its value
	rawBatchHead     = 61
	rawProduce       = 7 // the version of Produce: the last before flexible ones that knows zstd
	rawPartitionHead = 8 // partition and length, between the request's head and the batch
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// rawBatch is a Produce request of one batch, in one piece.
type rawBatch struct {
	buf       []byte
	began     time.Time
	partition int32
	sequence  int32
	records   int
	stamps    []*int64 // up to the last record that has one
}

func (b *rawBatch) begin(head []byte, partition int32) {
	b.buf = append(b.buf[:0], head...)
	b.buf = b.buf[:len(head)+rawPartitionHead+rawBatchHead]
	b.began, b.partition, b.records, b.stamps = time.Now(), partition, 0, b.stamps[:0]
}

func (b *rawBatch) size() int { return len(b.buf) }

func (b *rawBatch) stamp(i int) *int64 {
	if i < len(b.stamps) {
		return b.stamps[i]
	}
	return nil
}

// add appends a record and returns its size.
func (b *rawBatch) add(value []byte, stamp *int64) int {
	before := len(b.buf)
	delta := uint64(b.records) << 1
	// attributes, timestamp delta, offset delta, no key, value length, value, no headers
	body := 1 + 1 + uvarintLen(delta) + 1 + uvarintLen(uint64(len(value))<<1) + len(value) + 1
	b.buf = binary.AppendUvarint(b.buf, uint64(body)<<1)
	b.buf = append(b.buf, 0, 0)
	b.buf = binary.AppendUvarint(b.buf, delta)
	b.buf = append(b.buf, 1)
	b.buf = binary.AppendUvarint(b.buf, uint64(len(value))<<1)
	b.buf = append(b.buf, value...)
	b.buf = append(b.buf, 0)
	b.records++
	if stamp != nil {
		for len(b.stamps) < b.records-1 {
			b.stamps = append(b.stamps, nil)
		}
		b.stamps = append(b.stamps, stamp)
	}
	return len(b.buf) - before
}

// finish stamps what was not known before and returns the request.
func (b *rawBatch) finish(head int, correlation int32, producerID int64) []byte {
	be := binary.BigEndian
	be.PutUint32(b.buf, uint32(len(b.buf)-4))
	be.PutUint32(b.buf[8:], uint32(correlation))
	p := b.buf[head:]
	be.PutUint32(p, uint32(b.partition))
	be.PutUint32(p[4:], uint32(len(p)-rawPartitionHead))
	h := p[rawPartitionHead:]
	millis := uint64(b.began.UnixMilli())
	be.PutUint64(h, 0)
	be.PutUint32(h[8:], uint32(len(h)-12))
	be.PutUint32(h[12:], ^uint32(0))
	h[16] = 2
	be.PutUint16(h[21:], 0)
	be.PutUint32(h[23:], uint32(b.records-1))
	be.PutUint64(h[27:], millis)
	be.PutUint64(h[35:], millis)
	be.PutUint64(h[43:], uint64(producerID))
	be.PutUint16(h[51:], 0)
	be.PutUint32(h[53:], uint32(b.sequence))
	be.PutUint32(h[57:], uint32(b.records))
	be.PutUint32(h[17:], crc32.Checksum(h[21:], castagnoli))
	return b.buf
}

func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// handshake learns the number of partitions and gets a producer ID.
func (r *raw) handshake() (partitions int, err error) {
	meta := kmsg.NewPtrMetadataRequest()
	meta.Version = 4
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr(r.cfg.Topic)
	meta.Topics = append(meta.Topics, topic)
	m, err := r.ask(meta)
	if err != nil {
		return 0, err
	}
	topics := m.(*kmsg.MetadataResponse).Topics
	if len(topics) != 1 || topics[0].ErrorCode != 0 {
		return 0, fmt.Errorf("raw: no topic %q", r.cfg.Topic)
	}
	id := kmsg.NewPtrInitProducerIDRequest()
	id.TransactionTimeoutMillis = 60_000
	m, err = r.ask(id)
	if err != nil {
		return 0, err
	}
	resp := m.(*kmsg.InitProducerIDResponse)
	if resp.ErrorCode != 0 {
		return 0, fmt.Errorf("raw: no producer id, code %d", resp.ErrorCode)
	}
	r.producerID = resp.ProducerID
	r.head = rawHead(r.cfg.Topic)
	return len(topics[0].Partitions), nil
}

func (r *raw) ask(q kmsg.Request) (kmsg.Response, error) {
	req := kmsg.NewRequestFormatter(kmsg.FormatterClientID("raw")).AppendRequest(nil, q, 0)
	if _, err := r.conn.Write(req); err != nil {
		return nil, err
	}
	frame, err := r.response(nil)
	if err != nil {
		return nil, err
	}
	resp := q.ResponseKind()
	return resp, resp.ReadFrom(frame[min(4, len(frame)):])
}

// rawHead is a Produce request up to its only partition.
func rawHead(topic string) []byte {
	h := []byte{0, 0, 0, 0}
	h = kbin.AppendInt16(h, int16(kmsg.Produce))
	h = kbin.AppendInt16(h, rawProduce)
	h = kbin.AppendInt32(h, 0) // correlation
	h = kbin.AppendString(h, "raw")
	h = kbin.AppendNullableString(h, nil) // no transaction
	h = kbin.AppendInt16(h, -1)           // acks=all
	h = kbin.AppendInt32(h, 30_000)
	h = kbin.AppendArrayLen(h, 1)
	h = kbin.AppendString(h, topic)
	return kbin.AppendArrayLen(h, 1)
}

// rawProduceError finds the error in the response to a request of rawHead.
func rawProduceError(frame []byte) error {
	b := kbin.Reader{Src: frame}
	b.Int32() // correlation
	b.ArrayLen()
	_ = b.String()
	b.ArrayLen()
	b.Int32()
	code := b.Int16()
	if err := b.Complete(); err != nil {
		return fmt.Errorf("raw: response: %w", err)
	}
	if code != 0 {
		return fmt.Errorf("raw: the broker answers with code %d", code)
	}
	return nil
}
