// Package inspect asks a broker what it has of a producer: its entry for the
// producer ID (DescribeProducers, KIP-664), and its batches in the log. Both
// need READ on the topic.
package inspect

import (
	"encoding/binary"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Place names a partition.
type Place struct {
	Topic     string
	Partition int32
}

// DescribeProducersKey is the API key of DescribeProducers.
const DescribeProducersKey = 61

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

// Headers calls f for each whole record batch of what a Fetch returned. It
// returns the offset behind the last one, -1 if there is none. A batch that is
// cut short ends the reading.
func Headers(fetched []byte, f func(Header)) (next int64, err error) {
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
		if b[magicAt] != 2 {
			next = int64(binary.BigEndian.Uint64(b)) + 1
			continue
		}
		h := header(b)
		next = h.Offset + int64(h.Records)
		if b[attributesAt+1]&controlBit == 0 {
			f(h)
		}
	}
	return next, nil
}

func header(b []byte) Header {
	return Header{
		Offset:     int64(binary.BigEndian.Uint64(b)),
		Records:    int32(binary.BigEndian.Uint32(b[lastDeltaAt:])) + 1,
		ProducerID: int64(binary.BigEndian.Uint64(b[producerAt:])),
		Epoch:      int16(binary.BigEndian.Uint16(b[epochAt:])),
		Base:       int32(binary.BigEndian.Uint32(b[sequenceAt:])),
	}
}

// Question collects the partitions of one DescribeProducers request.
type Question struct {
	req kmsg.DescribeProducersRequest
	has map[Place]bool
}

// Add asks for one more partition. Once is enough: the answer has all producers.
func (q *Question) Add(at Place) {
	if q.has[at] {
		return
	}
	if q.has == nil {
		q.has = map[Place]bool{}
	}
	q.has[at] = true
	for i := range q.req.Topics {
		if t := &q.req.Topics[i]; t.Topic == at.Topic {
			t.Partitions = append(t.Partitions, at.Partition)
			return
		}
	}
	q.req.Topics = append(q.req.Topics, kmsg.DescribeProducersRequestTopic{Topic: at.Topic, Partitions: []int32{at.Partition}})
}

// Request is what is to be sent.
func (q *Question) Request() kmsg.Request { return &q.req }

// Entry is what a broker says of one producer ID in one partition.
type Entry struct {
	Code  int16 // of an error: nothing else counts then
	Known bool
	Epoch int32
	Last  int32 // sequence, -1: none in the epoch
}

// Answer finds entries in a response, in which there may be thousands.
type Answer struct{ places map[Place]entries }

type entries struct {
	code    int16
	entries map[int64]Entry
}

// Read makes an Answer of a response. It keeps nothing of it.
func Read(resp *kmsg.DescribeProducersResponse) Answer {
	a := Answer{places: map[Place]entries{}}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			e := entries{code: p.ErrorCode, entries: make(map[int64]Entry, len(p.ActiveProducers))}
			for k := range p.ActiveProducers {
				a := &p.ActiveProducers[k]
				e.entries[a.ProducerID] = Entry{Known: true, Epoch: a.ProducerEpoch, Last: a.LastSequence}
			}
			a.places[Place{t.Topic, p.Partition}] = e
		}
	}
	return a
}

// Find returns the entry of the producer ID, ok false where the response leaves
// the partition out.
func (a Answer) Find(at Place, producerID int64) (e Entry, ok bool) {
	there, ok := a.places[at]
	if e, known := there.entries[producerID]; known && there.code == 0 {
		return e, true
	}
	return Entry{Code: there.code, Last: -1}, ok
}
