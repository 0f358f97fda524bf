package producer

import (
	"math/rand/v2"
	"slices"

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
// bytes went there, then on another, so that batches get full (KIP-794). What
// went to a partition is counted under its lock, so that no record costs an
// atomic operation more.
type sticky struct {
	chosen atomic.Int32 // partition + 1; 0: none
}

func (s *sticky) pick(parts slots, leaders []leader) int32 {
	at := s.chosen.Load() - 1
	if at < 0 || int(at) >= len(parts) {
		at = int32(other(parts, leaders))
		s.chosen.Store(at + 1)
	}
	return at
}

// follow gives up the chosen partition if it has no leader any more and another
// one has (K49).
func (s *sticky) follow(leaders []leader) {
	chosen := s.chosen.Load()
	if at := int(chosen) - 1; at < 0 || at >= len(leaders) || leaders[at].broker != nil {
		return
	}
	if slices.ContainsFunc(leaders, func(l leader) bool { return l.broker != nil }) {
		s.chosen.CompareAndSwap(chosen, 0)
	}
}

// leave lets another one be chosen than at.
func (s *sticky) leave(at int32) { s.chosen.CompareAndSwap(at+1, 0) }

// run is how many bytes came to a partition in a row.
type run struct{ bytes int }

// count notes that a record of the size came to partition at, and lets another
// one be chosen after a batch of bytes.
func (s *sticky) count(r *run, at int32, size, batch int) {
	if r.bytes += size; r.bytes > batch-size {
		r.bytes = 0
		s.leave(at)
	}
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
