package producertest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Batch is one batch of a partition's log.
type Batch struct {
	BaseOffset  int64
	LeaderEpoch int32

	ProducerID    int64 // -1: not idempotent
	ProducerEpoch int16
	BaseSequence  int32
	Records       int32

	// Bytes is the batch as it is in the log: what came in, with offset and
	// leader epoch set. It must not be changed.
	Bytes []byte
}

// Record is a record of a partition's log.
type Record struct {
	Offset     int64
	Timestamp  time.Time // whole milliseconds
	Key, Value []byte    // nil where it is null
	Headers    []Header
}

// Header is a header of a record.
type Header struct {
	Key   string
	Value []byte // nil where it is null
}

// Decode decodes the records of the batch, of any codec Kafka knows. Keys and
// values may share the memory of Bytes.
func (b Batch) Decode() ([]Record, error) { return decodeRecords(b.Bytes) }

// Log is what the log of a partition holds now, in offset order. It is empty
// for a partition that does not exist.
func (c *Cluster) Log(topic string, partition int32) []Batch {
	p, err := c.partition(topic, partition)
	if err != nil {
		return nil
	}
	log, _ := p.snapshot()
	batches := make([]Batch, len(log))
	for i, s := range log {
		h := parseBatch(s.bytes, 13).head
		batches[i] = Batch{
			BaseOffset: s.base, LeaderEpoch: h.PartitionLeaderEpoch,
			ProducerID: h.ProducerID, ProducerEpoch: h.ProducerEpoch,
			BaseSequence: h.FirstSequence, Records: s.records, Bytes: s.bytes,
		}
	}
	return batches
}

// Records decodes the whole log of a partition.
func (c *Cluster) Records(topic string, partition int32) ([]Record, error) {
	var all []Record
	for _, b := range c.Log(topic, partition) {
		records, err := b.Decode()
		if err != nil {
			return all, fmt.Errorf("producertest: topic %s partition %d offset %d: %w", topic, partition, b.BaseOffset, err)
		}
		all = append(all, records...)
	}
	return all, nil
}

var errRecords = errors.New("producertest: malformed records")

// decodeRecords decodes the records of a batch in the log.
func decodeRecords(b []byte) ([]Record, error) {
	p := parseBatch(b, 13)
	if p.fault != codeNone {
		return nil, errRecords
	}
	raw, err := decompress(p.codec(), p.head.Records)
	if err != nil {
		return nil, err
	}
	if p.head.NumRecords < 0 || int(p.head.NumRecords) > len(raw) {
		return nil, errRecords
	}
	records := make([]Record, 0, p.head.NumRecords)
	for range p.head.NumRecords {
		var r Record
		if r, raw, err = decodeRecord(&p.head, raw); err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	if len(raw) > 0 {
		return nil, errRecords
	}
	return records, nil
}

// decodeRecord decodes the first record of raw and returns what follows.
func decodeRecord(h *kmsg.RecordBatch, raw []byte) (r Record, rest []byte, err error) {
	length, n := binary.Varint(raw)
	if n <= 0 || length < 0 || length > int64(len(raw)-n) {
		return r, nil, errRecords
	}
	var m kmsg.Record
	if err := m.ReadFrom(raw[:n+int(length)]); err != nil {
		return r, nil, fmt.Errorf("%w: %w", errRecords, err)
	}
	ms := h.FirstTimestamp + m.TimestampDelta64
	if h.Attributes&appendTime != 0 {
		ms = h.MaxTimestamp
	}
	r = Record{
		Offset: h.FirstOffset + int64(m.OffsetDelta), Timestamp: time.UnixMilli(ms),
		Key: m.Key, Value: m.Value,
	}
	for _, mh := range m.Headers {
		r.Headers = append(r.Headers, Header{Key: mh.Key, Value: mh.Value})
	}
	return r, raw[n+int(length):], nil
}
