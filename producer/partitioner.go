package producer

import (
	"math/rand/v2"

	"go.uber.org/atomic"
)

// murmur2 is the hash by which the Java client places keys (K57), so that
// producers in several languages agree on the partition of a key.
func murmur2(key []byte) uint32 {
	const (
		seed = 0x9747b28c
		m    = 0x5bd1e995
	)
	h := uint32(seed) ^ uint32(len(key))
	for ; len(key) >= 4; key = key[4:] {
		k := uint32(key[0]) | uint32(key[1])<<8 | uint32(key[2])<<16 | uint32(key[3])<<24
		k *= m
		k ^= k >> 24
		h = h*m ^ k*m
	}
	switch len(key) {
	case 3:
		h ^= uint32(key[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(key[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(key[0])) * m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}

// keyPartition places a key among n partitions.
func keyPartition(key []byte, n int) int {
	return int(murmur2(key)&0x7fffffff) % n
}

// sticky places records without a key: on one partition until about a batch of
// bytes went there, then on another, so that batches get full (KIP-794).
type sticky struct {
	partition atomic.Int32
	bytes     atomic.Int64
}

func (s *sticky) pick(parts slots, leaders []leader, size, batch int) int {
	at := int(s.partition.Load())
	if s.bytes.Add(int64(size)) <= int64(batch) && at < len(parts) {
		return at
	}
	s.bytes.Store(int64(size))
	at = other(parts, leaders)
	s.partition.Store(int32(at))
	return at
}

// other draws two partitions and takes the one that has less to do, so that a
// slow broker gets fewer records and not all of the buffer.
func other(parts slots, leaders []leader) int {
	a, b := draw(leaders, len(parts)), draw(leaders, len(parts))
	if parts.load(b) < parts.load(a) {
		return b
	}
	return a
}

// draw chooses among the partitions that have a leader, or among all if none
// has: then the records wait for one (K49).
func draw(leaders []leader, n int) int {
	first := rand.IntN(n)
	for i := range n {
		if at := (first + i) % n; at < len(leaders) && leaders[at].broker != nil {
			return at
		}
	}
	return first
}

// load is how many batches of a partition have no outcome.
func (s slots) load(at int) int32 {
	p := s[at].Load()
	if p == nil {
		return 0
	}
	return p.gauge.unresolved.Load()
}
