// Package wire encodes the Produce request, the one message on the hot path;
// all others are kmsg's. Batches are referenced, not copied, so that a request
// is written with one vectored write.
//
// The package is pure: bytes in, bytes out.
package wire

import (
	"encoding/binary"
	"slices"
)

// The versions of Produce that can be encoded. Brokers of 4.0 and later name
// lower ones than 3, but take none (KAFKA-18659).
const (
	MinProduceVersion = 3
	MaxProduceVersion = 13
)

const (
	flexibleSince = 9  // compact lengths, tagged fields, request header v2
	topicIDSince  = 13 // topics by id instead of by name (KIP-516)

	produceKey = 0
)

// copyBelow is the size below which a batch is copied to its neighbours instead
// of being a piece of its own: the system call takes about as long for one more
// piece as the copy of 2 to 4 KiB does.
const copyBelow = 4 << 10

// ProduceRequest is a Produce request, of versions MinProduceVersion to
// MaxProduceVersion, without a transaction. It may be used for one request
// after another (Reset) and then allocates nothing. One goroutine at a time.
type ProduceRequest struct {
	Version       int16
	CorrelationID int32
	ClientID      string // at most 32767 bytes
	Acks          int16  // -1 all, 1 the leader, 0 none, which gets no response
	TimeoutMillis int32  // how long the broker may wait for its replicas
	Topics        []ProduceTopic

	frame  int                // size of the frame, kept by Reset and Add
	places map[topicKey]int32 // of the topics that Add has met
}

// ProduceTopic is the part of a request that goes to one topic. Versions up to 12
// send the Name, later ones the ID.
type ProduceTopic struct {
	Name       string // at most 249 bytes, as Kafka allows
	ID         [16]byte
	Partitions []ProducePartition
}

// ProducePartition is one batch and the partition it goes to. Records is an
// encoded batch; a nil one is sent as null, which a broker refuses.
type ProducePartition struct {
	Index   int32
	Records []byte
}

// AppendTo encodes the request as pieces for a vectored write and appends them
// to vec. What is not a batch goes to the end of scratch, and so do batches
// below 4 KiB; larger ones become pieces of their own, so they must not change
// until the write has ended. Pieces that vec held before stay valid when scratch
// grows. All pieces of one call together are Size bytes.
func (r *ProduceRequest) AppendTo(scratch []byte, vec [][]byte) (grown []byte, pieces [][]byte) {
	size := r.Size()
	p := appender{
		scratch:  slices.Grow(scratch, size-r.referenced()),
		cut:      len(scratch),
		vec:      vec,
		flexible: r.Version >= flexibleSince,
	}
	p.header(r, size)
	p.count(len(r.Topics))
	for i := range r.Topics {
		t := &r.Topics[i]
		if r.Version >= topicIDSince {
			p.scratch = append(p.scratch, t.ID[:]...)
		} else {
			p.name(t.Name)
		}
		p.count(len(t.Partitions))
		for j := range t.Partitions {
			p.int32(t.Partitions[j].Index)
			p.records(t.Partitions[j].Records)
			p.noTags()
		}
		p.noTags()
	}
	p.noTags()
	p.flush()
	return p.scratch, p.vec
}

// referenced returns how many bytes of the request are not copied to scratch.
func (r *ProduceRequest) referenced() int {
	n := 0
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			if size := len(r.Topics[i].Partitions[j].Records); size >= copyBelow {
				n += size
			}
		}
	}
	return n
}

// appender writes the fields of a request. What lies in scratch from cut on is
// not yet a piece of vec.
type appender struct {
	scratch  []byte
	cut      int
	vec      [][]byte
	flexible bool
}

func (p *appender) header(r *ProduceRequest, size int) {
	p.int32(int32(size - 4)) // the length does not count itself
	p.int16(produceKey)
	p.int16(r.Version)
	p.int32(r.CorrelationID)
	p.int16(int16(len(r.ClientID))) // never compact: it is read before the version is known (KIP-511)
	p.scratch = append(p.scratch, r.ClientID...)
	p.noTags()
	if p.flexible {
		p.scratch = append(p.scratch, 0) // no transactional id
	} else {
		p.int16(-1)
	}
	p.int16(r.Acks)
	p.int32(r.TimeoutMillis)
}

func (p *appender) int16(v int16) { p.scratch = binary.BigEndian.AppendUint16(p.scratch, uint16(v)) }

func (p *appender) int32(v int32) { p.scratch = binary.BigEndian.AppendUint32(p.scratch, uint32(v)) }

// compact writes a compact length: one more than n, so that 0 is null.
func (p *appender) compact(n int) {
	p.scratch = binary.AppendUvarint(p.scratch, uint64(n)+1)
}

func (p *appender) count(n int) {
	if p.flexible {
		p.compact(n)
	} else {
		p.int32(int32(n))
	}
}

func (p *appender) name(s string) {
	if p.flexible {
		p.compact(len(s))
	} else {
		p.int16(int16(len(s)))
	}
	p.scratch = append(p.scratch, s...)
}

func (p *appender) records(b []byte) {
	switch {
	case b != nil:
		p.count(len(b))
	case p.flexible:
		p.scratch = append(p.scratch, 0)
	default:
		p.int32(-1)
	}
	if len(b) < copyBelow {
		p.scratch = append(p.scratch, b...)
		return
	}
	p.flush()
	p.vec = append(p.vec, b)
}

// noTags ends a structure of a flexible version. A structure without its byte
// would garble the rest of the request (K61).
func (p *appender) noTags() {
	if p.flexible {
		p.scratch = append(p.scratch, 0)
	}
}

// flush makes a piece of what was written to scratch.
func (p *appender) flush() {
	if end := len(p.scratch); end > p.cut {
		p.vec = append(p.vec, p.scratch[p.cut:end:end])
		p.cut = end
	}
}
