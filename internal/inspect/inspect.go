// Package inspect asks a broker what it has of a producer: its entry for the
// producer ID (DescribeProducers, KIP-664), and its batches in the log. Both
// need READ on the topic.
package inspect

import (
	"encoding/binary"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"
)

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
type Question struct{ req kmsg.DescribeProducersRequest }

// Add asks for one more partition.
func (q *Question) Add(topic string, partition int32) {
	for i := range q.req.Topics {
		if t := &q.req.Topics[i]; t.Topic == topic {
			t.Partitions = append(t.Partitions, partition)
			return
		}
	}
	q.req.Topics = append(q.req.Topics, kmsg.DescribeProducersRequestTopic{Topic: topic, Partitions: []int32{partition}})
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

// Find returns the entry of the producer ID, ok false where the response leaves
// the partition out.
func Find(resp *kmsg.DescribeProducersResponse, topic string, partition int32, producerID int64) (e Entry, ok bool) {
	for i := range resp.Topics {
		if resp.Topics[i].Topic != topic {
			continue
		}
		for j := range resp.Topics[i].Partitions {
			if p := &resp.Topics[i].Partitions[j]; p.Partition == partition {
				return entry(p, producerID), true
			}
		}
	}
	return Entry{}, false
}

func entry(p *kmsg.DescribeProducersResponseTopicPartition, producerID int64) Entry {
	e := Entry{Code: p.ErrorCode, Last: -1}
	for i := range p.ActiveProducers {
		if a := &p.ActiveProducers[i]; a.ProducerID == producerID {
			e.Known, e.Epoch, e.Last = true, a.ProducerEpoch, a.LastSequence
		}
	}
	return e
}
