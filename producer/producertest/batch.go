package producertest

import (
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Places in a record batch of format 2.
const (
	leaderEpochAt  = 12
	magicAt        = 16
	crcAt          = 17
	attributesAt   = 21
	maxTimestampAt = 35
	headerBytes    = 61
	sizeBytes      = 12 // offset and length, which the length does not count
)

// Attributes of a record batch, above the codec.
const (
	appendTime    = 1 << 3
	transactional = 1 << 4
	control       = 1 << 5
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batch is a record batch as it came in.
type batch struct {
	bytes []byte
	head  kmsg.RecordBatch
	fault int16 // what is wrong with its form
}

// parseBatch reads the header of what a Produce request has for a partition,
// which must be exactly one batch.
func parseBatch(b []byte, version int16) *batch {
	p := &batch{bytes: b, head: kmsg.NewRecordBatch()}
	p.head.ProducerID, p.head.ProducerEpoch, p.head.FirstSequence = -1, -1, -1
	if len(b) < headerBytes || b[magicAt] != 2 {
		p.fault = codeInvalidRecord
		return p
	}
	if err := p.head.ReadFrom(b); err != nil || int(p.head.Length) != len(b)-sizeBytes {
		p.fault = codeInvalidRecord
		return p
	}
	const zstd = 4
	if p.codec() > zstd || p.codec() == zstd && version < 7 {
		p.fault = codeUnsupportedCodec
	}
	return p
}

func (b *batch) codec() int16 { return b.head.Attributes & 7 }

// numbered reports whether the batch has a place in a producer's order.
func (b *batch) numbered() bool {
	return b.fault == codeNone && b.head.ProducerID >= 0 && b.head.FirstSequence >= 0 && b.head.NumRecords > 0
}

// check judges a batch by itself, in the order of UnifiedLog and LogValidator.
// All of it comes before the broker looks for duplicates.
func (b *batch) check(maxBytes int32) int16 {
	h := &b.head
	switch {
	case b.fault != codeNone:
		return b.fault
	case h.FirstOffset != 0:
		return codeInvalidRecord
	case len(b.bytes) > int(maxBytes):
		return codeMessageTooLarge
	case crc32.Checksum(b.bytes[attributesAt:], castagnoli) != uint32(h.CRC):
		return codeCorruptMessage
	case h.NumRecords < 1, h.LastOffsetDelta != h.NumRecords-1, h.Attributes&control != 0:
		return codeInvalidRecord
	case h.ProducerID >= 0 && (h.FirstSequence < 0 || h.ProducerEpoch < 0):
		return codeInvalidRecord
	case h.Attributes&transactional != 0:
		return codeInvalidTxnState
	}
	return codeNone
}
