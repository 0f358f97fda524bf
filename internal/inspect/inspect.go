// Package inspect asks a broker what it has of a producer: its entry for the
// producer ID (DescribeProducers, KIP-664), and its batches in the log. Both
// need READ on the topic.
package inspect

import (
	"encoding/binary"
	"errors"
)

// Place names a partition.
type Place struct {
	Topic     string
	Partition int32
}

// Header is what a record batch in the log says of itself and its producer.
type Header struct {
	Offset     int64 // of the first record
	Records    int32 // as the batch was written: compaction keeps the number
	ProducerID int64 // -1: none
	Epoch      int16
	Base       int32 // sequence of the first record
}

// Layout of record batches of format v2; the length and the magic byte lie
// there in the formats before it, too.
const (
	lengthAt     = 8
	afterLength  = 12
	magicAt      = 16
	attributesAt = 21
	lastDeltaAt  = 23
	producerAt   = 43
	epochAt      = 51
	sequenceAt   = 53
	headerBytes  = 61

	controlBit = 0x20 // a transaction marker, no records
)

var errLog = errors.New("inspect: what was fetched is no log")

// Headers calls f for each whole record batch of what a Fetch returned, as long as f
// wants more. It returns the offset behind the last one, -1 if there is none. A batch
// that is cut short ends the reading. Offsets rise: what says otherwise is no log.
func Headers(fetched []byte, f func(Header) (more bool)) (next int64, err error) {
	next = -1
	for len(fetched) >= headerBytes {
		size := int(int32(binary.BigEndian.Uint32(fetched[lengthAt:]))) + afterLength
		if size < headerBytes && fetched[magicAt] == 2 || size <= magicAt {
			return next, errLog
		}
		if size > len(fetched) {
			break
		}
		b := fetched[:size]
		fetched = fetched[size:]
		h := header(b)
		end := h.Offset + int64(h.Records)
		if h.Offset < max(next, 0) || end <= h.Offset {
			return next, errLog
		}
		next = end
		if b[magicAt] == 2 && b[attributesAt+1]&controlBit == 0 && !f(h) {
			break
		}
	}
	return next, nil
}

// header of a batch; one in a format before v2 has nothing but its last offset.
func header(b []byte) Header {
	if b[magicAt] != 2 {
		return Header{Offset: int64(binary.BigEndian.Uint64(b)), Records: 1, ProducerID: -1}
	}
	return Header{
		Offset:     int64(binary.BigEndian.Uint64(b)),
		Records:    int32(binary.BigEndian.Uint32(b[lastDeltaAt:])) + 1,
		ProducerID: int64(binary.BigEndian.Uint64(b[producerAt:])),
		Epoch:      int16(binary.BigEndian.Uint16(b[epochAt:])),
		Base:       int32(binary.BigEndian.Uint32(b[sequenceAt:])),
	}
}
