package sink

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
	"sync/atomic"
)

// Error codes of the protocol.
const (
	codeNone             = 0
	codeCorrupt          = 2
	codeUnknownPartition = 3
	codeNotLeader        = 6
	codeOutOfOrder       = 45
	codeDuplicate        = 46
)

const batchHead = 61

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// log is what would be the log: only where each partition and each producer in
// it stands.
type log struct {
	check      bool
	partitions []partition

	requests, batches, records, bytes atomic.Int64
	duplicates, outOfOrder, corrupt   atomic.Int64
}

type partition struct {
	mu        sync.Mutex
	end       int64
	producers map[producer]*chain
}

type producer struct {
	id    int64
	epoch int16
}

// retained is how many batches of a producer Kafka remembers.
const retained = 5

// chain is what a partition remembers of a producer.
type chain struct {
	next int32 // sequence
	last [retained]appended
	n    int // appended so far
}

type appended struct {
	first, records int32
	offset         int64
}

func newLog(partitions int32, check bool) *log {
	return &log{check: check, partitions: make([]partition, partitions)}
}

// append judges one batch and returns its offset, or an error code and -1.
func (l *log) append(index int32, raw []byte) (offset int64, code int16) {
	l.batches.Add(1)
	if index < 0 || int(index) >= len(l.partitions) {
		return -1, codeUnknownPartition
	}
	if !l.sound(raw) {
		l.corrupt.Add(1)
		return -1, codeCorrupt
	}
	who := producer{int64(binary.BigEndian.Uint64(raw[43:])), int16(binary.BigEndian.Uint16(raw[51:]))}
	b := appended{first: int32(binary.BigEndian.Uint32(raw[53:])), records: int32(binary.BigEndian.Uint32(raw[57:]))}
	offset, code = l.partitions[index].append(who, b)
	switch {
	case code == codeOutOfOrder:
		l.outOfOrder.Add(1)
	case code == codeDuplicate:
		l.duplicates.Add(1)
	case offset < 0: // one of those remembered
		l.duplicates.Add(1)
		offset = -offset - 1
	default:
		l.records.Add(int64(b.records))
		l.bytes.Add(int64(len(raw)))
	}
	return offset, code
}

// sound reports whether raw is one whole batch with a right checksum.
func (l *log) sound(raw []byte) bool {
	if len(raw) < batchHead || raw[16] != 2 || int(binary.BigEndian.Uint32(raw[8:])) != len(raw)-12 {
		return false
	}
	if int32(binary.BigEndian.Uint32(raw[57:])) < 1 {
		return false
	}
	return !l.check || crc32.Checksum(raw[21:], castagnoli) == binary.BigEndian.Uint32(raw[17:])
}

// append returns the offset of a new batch, minus the offset minus one for one
// that is remembered, and -1 with a code for one that is refused.
func (p *partition) append(who producer, b appended) (offset int64, code int16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.offset = p.end
	if who.id >= 0 {
		if old, code := p.number(who, b); code != codeNone || old != nil {
			if old != nil {
				return -old.offset - 1, codeNone
			}
			return -1, code
		}
	}
	p.end += int64(b.records)
	return b.offset, codeNone
}

// number puts b behind what the producer has in the partition, or returns the
// batch that it repeats, or refuses it.
func (p *partition) number(who producer, b appended) (*appended, int16) {
	c := p.producers[who]
	if c == nil {
		if b.first != 0 {
			return nil, codeOutOfOrder
		}
		c = &chain{}
		if p.producers == nil {
			p.producers = map[producer]*chain{}
		}
		p.producers[who] = c
	}
	if b.first != c.next {
		return c.repeated(b)
	}
	c.last[c.n%retained] = b
	c.n++
	c.next = sequenceAfter(b)
	return nil, codeNone
}

func (c *chain) repeated(b appended) (*appended, int16) {
	for i := range min(c.n, retained) {
		if old := &c.last[i]; old.first == b.first && old.records == b.records {
			return old, codeNone
		}
	}
	if behind := (int64(c.next) - int64(b.first)) & (1<<31 - 1); behind < 1<<30 {
		return nil, codeDuplicate
	}
	return nil, codeOutOfOrder
}

func sequenceAfter(b appended) int32 {
	return int32((int64(b.first) + int64(b.records)) & (1<<31 - 1))
}

func (l *log) stats() Stats {
	return Stats{
		Requests: l.requests.Load(), Batches: l.batches.Load(), Records: l.records.Load(), Bytes: l.bytes.Load(),
		Duplicates: l.duplicates.Load(), OutOfOrder: l.outOfOrder.Load(), Corrupt: l.corrupt.Load(),
	}
}
