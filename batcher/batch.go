// Package batcher turns records into record batches of Kafka's format v2. A
// record is encoded straight into its batch as it arrives, which is the only
// copy that is made of its bytes; a full batch is sealed, stamped with the
// producer's identity and sequence, and its bytes then serve every attempt.
//
// The package is pure: it has no clock and no lock. A Batch belongs to one
// goroutine at a time, its owner hands it on under a lock of its own.
package batcher

import (
	"math"
	"slices"
)

// Batch is one record batch of one partition, open for records until it is
// sealed. D is what the owner keeps with each record until its outcome is
// known; it is stored by value. The life of a batch:
//
//	Reset, Append ..., Seal, Stamp, Encoded ..., Release
//
// The zero value is an empty batch that allocates its own buffer. A Batch must
// not be copied once it holds records.
type Batch[D any] struct {
	raw        []byte // header and records, uncompressed; kept for Split
	packed     []byte // header and compressed records; nil if sent as they are
	deliveries []D    // one a record, in order

	first, oldest, newest int64 // timestamps

	codec  int16 // of packed, as in the attributes
	sealed bool
}

// Reset makes b an empty, open batch that writes into buf from its start. buf
// belongs to b until Release; nil is allowed. A buffer that is too small is
// replaced by a larger one. What b held before is forgotten, the memory of the
// deliveries is cleared and reused.
func (b *Batch[D]) Reset(buf []byte) {
	clear(b.deliveries)
	*b = Batch[D]{raw: buf[:0], deliveries: b.deliveries[:0]}
}

// Release ends the use of the encoded bytes and returns the buffers that held
// them: the one given to Reset and the one that Seal used, each of them
// possibly nil or grown. The owner calls it when no write of the bytes is
// under way any more. Records, Deliveries and the timestamps stay until Reset.
func (b *Batch[D]) Release() (raw, packed []byte) {
	raw, packed = b.raw, b.packed
	b.raw, b.packed = nil, nil
	return raw, packed
}

// Fits says whether b with r appended would take at most limit bytes,
// uncompressed and batch header included. It is exact. No limit allows more
// than math.MaxInt32 bytes, the most that a batch can say of its length.
func (b *Batch[D]) Fits(r *Record, limit int) bool {
	const mostOverhead = 5 + 1 + 10 + 5 // length, attributes, the two deltas
	content := contentBytes(r)
	if int64(b.rawBytes())+content+mostOverhead <= min(int64(limit), math.MaxInt32) {
		return true // whatever the numbers take: most records end here
	}
	next := recordBytes(b.timestampDelta(r.Timestamp), int64(len(b.deliveries)), content)
	return int64(b.rawBytes())+next <= min(int64(limit), math.MaxInt32)
}

// Append encodes r at the end of b and keeps d with it. The bytes of r are
// copied, the caller may reuse them at once. Whether r fits is for the caller to
// ask before (Fits, or Size for the first record of a batch). It panics when b
// is sealed: that record would be lost.
func (b *Batch[D]) Append(r *Record, d D) {
	b.raw = appendContent(b.begin(r.Timestamp, contentBytes(r)), r)
	b.deliveries = append(b.deliveries, d)
}

// begin returns raw with room for the next record and all of that but its
// content.
func (b *Batch[D]) begin(timestamp, content int64) []byte {
	if b.sealed {
		panic("batcher: append to a sealed batch")
	}
	if len(b.deliveries) == 0 {
		b.raw = append(b.raw[:0], make([]byte, headerBytes)...)
		b.first, b.oldest, b.newest = timestamp, timestamp, timestamp
	}
	b.oldest = min(b.oldest, timestamp)
	b.newest = max(b.newest, timestamp)

	// Deltas count from the first record of the batch, in whole milliseconds;
	// they may be negative, and wrap as the reader's sum does (K51).
	delta, index := b.timestampDelta(timestamp), int64(len(b.deliveries))
	body := bodyBytes(delta, index, content)
	raw := slices.Grow(b.raw, int(varintBytes(body)+body))
	raw = appendVarint(raw, body)
	raw = append(raw, 0) // attributes of a record: none are defined
	raw = appendVarint(raw, delta)
	return appendVarint(raw, index)
}

func (b *Batch[D]) timestampDelta(timestamp int64) int64 {
	if len(b.deliveries) == 0 {
		return 0
	}
	return timestamp - b.first
}

// Records returns the number of records, which is also the number of sequences
// that the batch takes.
func (b *Batch[D]) Records() int { return len(b.deliveries) }

// Bytes returns the exact size of the encoded batch as it is now: compressed
// once it was sealed with a compressor. Not to be used after Release.
func (b *Batch[D]) Bytes() int {
	if b.packed != nil {
		return len(b.packed)
	}
	return b.rawBytes()
}

func (b *Batch[D]) rawBytes() int { return max(len(b.raw), headerBytes) }

// Deliveries returns what was appended with the records, in their order. The
// slice belongs to b and is valid until Reset or Split.
func (b *Batch[D]) Deliveries() []D { return b.deliveries }

// FirstTimestamp returns the timestamp of the first record, in milliseconds
// since the Unix epoch; 0 if b is empty.
func (b *Batch[D]) FirstTimestamp() int64 { return b.first }

// MaxTimestamp returns the largest timestamp of the records. It is the one by
// which brokers judge how long ago they heard of a producer (KIP-854).
func (b *Batch[D]) MaxTimestamp() int64 { return b.newest }

// OldestTimestamp returns the smallest timestamp of the records.
func (b *Batch[D]) OldestTimestamp() int64 { return b.oldest }
