package batcher

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// Compressor compresses the records of a batch. Batches of several goroutines
// may share one if its methods may be called concurrently.
type Compressor interface {
	// ID is the codec's number in the attributes of a batch: 1 gzip, 2 snappy,
	// 3 lz4, 4 zstd; 0 is none.
	ID() int16

	// Compress appends the compressed form of src to dst and returns the
	// longer slice, as append does. It keeps neither.
	Compress(dst, src []byte) ([]byte, error)
}

// The header of a record batch: offsets of its fields, and its size.
const (
	baseOffsetAt      = 0  // int64
	lengthAt          = 8  // int32, of all that follows it
	leaderEpochAt     = 12 // int32
	magicAt           = 16 // int8
	crcAt             = 17 // uint32, CRC-32C of all that follows it
	attributesAt      = 21 // int16
	lastOffsetDeltaAt = 23 // int32
	baseTimestampAt   = 27 // int64
	maxTimestampAt    = 35 // int64
	producerIDAt      = 43 // int64
	producerEpochAt   = 51 // int16
	baseSequenceAt    = 53 // int32
	recordCountAt     = 57 // int32
	headerBytes       = 61
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal closes b for records. With a compressor (nil or ID 0: none) the records
// are compressed into dst, a buffer whose old content is of no interest and
// that grows if it must. When the result is not smaller, or the compressor
// fails, the records are sent as they are.
//
// Seal returns dst if it was not needed, and nil if it now belongs to b (until
// Release). The uncompressed records are kept too, so that Split needs no
// decompressor.
func (b *Batch[D]) Seal(c Compressor, dst []byte) (spare []byte) {
	b.sealed = true
	if c == nil || c.ID() == 0 || len(b.deliveries) == 0 {
		return dst
	}
	dst = slices.Grow(dst[:0], headerBytes)
	packed, err := c.Compress(dst[:headerBytes], b.raw[headerBytes:])
	if err != nil || len(packed) >= len(b.raw) {
		return dst
	}
	b.packed, b.codec = packed, c.ID()
	return nil
}

// Stamp writes the batch header with the identity of the producer, the sequence
// of the first record, and the checksum. The same arguments give the same
// bytes. It may be called again, with another epoch say, but only while no
// write of the bytes is under way and none may be repeated with the old ones.
// A batch without records is not stamped.
func (b *Batch[D]) Stamp(producerID int64, epoch int16, baseSequence int32) {
	h, count := b.Encoded(), len(b.deliveries)
	if count == 0 {
		return
	}
	be := binary.BigEndian
	be.PutUint64(h[baseOffsetAt:], 0) // anything else is refused with INVALID_RECORD
	be.PutUint32(h[lengthAt:], uint32(len(h)-leaderEpochAt))
	be.PutUint32(h[leaderEpochAt:], ^uint32(0)) // -1, the broker's to fill in
	h[magicAt] = 2
	be.PutUint16(h[attributesAt:], uint16(b.codec))
	be.PutUint32(h[lastOffsetDeltaAt:], uint32(count-1))
	be.PutUint64(h[baseTimestampAt:], uint64(b.first))
	be.PutUint64(h[maxTimestampAt:], uint64(b.newest))
	be.PutUint64(h[producerIDAt:], uint64(producerID))
	be.PutUint16(h[producerEpochAt:], uint16(epoch))
	be.PutUint32(h[baseSequenceAt:], uint32(baseSequence))
	be.PutUint32(h[recordCountAt:], uint32(count))
	be.PutUint32(h[crcAt:], crc32.Checksum(h[attributesAt:], castagnoli))
}

// Encoded returns the bytes for the wire, complete after Stamp. They belong to
// b, must not be changed, and are valid until Release.
func (b *Batch[D]) Encoded() []byte {
	if b.packed != nil {
		return b.packed
	}
	return b.raw
}
