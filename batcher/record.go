package batcher

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Record is one record as the log of a partition keeps it.
//
// A nil Key or Value is absent (null), an empty one is present with no bytes:
// consumers and log compaction tell the two apart (K56).
type Record struct {
	Key       []byte
	Value     []byte
	Headers   []Header
	Timestamp int64 // milliseconds since the Unix epoch, may be negative

	content int64 // its encoded size, 0: not measured
}

// Measure notes how many bytes key, value and headers take, which Size, Fits and
// Append count otherwise each time. They must not change afterwards.
func (r *Record) Measure() { r.content = measure(r) }

// Header is one header of a record. A nil Value is absent, as in Record; the
// key is always present.
type Header struct {
	Key   string
	Value []byte
}

// Size returns the exact size in bytes of an uncompressed batch that holds
// only r, batch header included. A record whose Size is above the limit of a
// batch fits into none. It is at most math.MaxInt32, more than that has no
// place in a batch, whose length is an int32.
func Size(r *Record) int {
	n := headerBytes + recordBytes(0, 0, contentBytes(r))
	return int(min(n, math.MaxInt32))
}

// Sizes are int64, because one slice may stand in many headers: the sum may be
// above the int of a 32-bit machine (K74).

// recordBytes returns the size of an encoded record, its length field included.
func recordBytes(timestampDelta, offsetDelta, content int64) int64 {
	body := bodyBytes(timestampDelta, offsetDelta, content)
	return varintBytes(body) + body
}

// bodyBytes returns the size of what follows the length field of a record: one
// byte of attributes, the deltas and the content.
func bodyBytes(timestampDelta, offsetDelta, content int64) int64 {
	return 1 + varintBytes(timestampDelta) + varintBytes(offsetDelta) + content
}

// contentBytes returns the encoded size of the part of a record that does not
// depend on its place in a batch: key, value and headers.
func contentBytes(r *Record) int64 {
	if r.content > 0 {
		return r.content
	}
	return measure(r)
}

func measure(r *Record) int64 {
	n := nullableBytes(r.Key) + nullableBytes(r.Value) + varintBytes(int64(len(r.Headers)))
	for i := range r.Headers {
		h := &r.Headers[i]
		n += varintBytes(int64(len(h.Key))) + int64(len(h.Key)) + nullableBytes(h.Value)
	}
	return n
}

func nullableBytes(p []byte) int64 {
	// Null is the length -1, which takes one byte, as the length 0 does.
	return varintBytes(int64(len(p))) + int64(len(p))
}

// varintBytes returns the size of v in zigzag encoding, 1 to 10 bytes.
func varintBytes(v int64) int64 {
	zigzag := uint64(v)<<1 ^ uint64(v>>63)
	switch { // most are lengths and deltas of one or two bytes
	case zigzag < 1<<7:
		return 1
	case zigzag < 1<<14:
		return 2
	}
	return int64(bits.Len64(zigzag)+6) / 7
}

func appendContent(dst []byte, r *Record) []byte {
	dst = appendNullable(dst, r.Key)
	dst = appendNullable(dst, r.Value)
	dst = appendVarint(dst, int64(len(r.Headers)))
	for i := range r.Headers {
		h := &r.Headers[i]
		dst = appendVarint(dst, int64(len(h.Key)))
		dst = append(dst, h.Key...)
		dst = appendNullable(dst, h.Value)
	}
	return dst
}

func appendNullable(dst, p []byte) []byte {
	if p == nil {
		return append(dst, 1) // -1
	}
	dst = appendVarint(dst, int64(len(p)))
	return append(dst, p...)
}

// appendVarint is binary.AppendVarint, faster for numbers of one or two bytes.
func appendVarint(dst []byte, v int64) []byte {
	zigzag := uint64(v)<<1 ^ uint64(v>>63)
	switch {
	case zigzag < 1<<7:
		return append(dst, byte(zigzag))
	case zigzag < 1<<14:
		return append(dst, byte(zigzag)|0x80, byte(zigzag>>7))
	}
	return binary.AppendUvarint(dst, zigzag)
}
