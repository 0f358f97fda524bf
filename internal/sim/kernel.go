package sim

import "slices"

// Times are virtual, in nanoseconds.
const (
	micros  = int64(1_000)
	millis  = 1_000 * micros
	seconds = 1_000 * millis
	never   = int64(1) << 62
)

// event is something that happens at a time. What a and b mean is up to the kind.
type event struct {
	at   int64
	n    uint32 // order of insertion, for equal times
	kind kind
	a, b int32
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.n < o.n
}

// agenda is a heap of events with four children a node.
type agenda struct {
	heap []event
	n    uint32
}

func (a *agenda) add(e event) {
	e.n = a.n
	a.n++
	a.heap = append(a.heap, e)
	h := a.heap
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
}

func (a *agenda) next() event {
	h := a.heap
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	a.heap = h
	i := 0
	for len(h) > 0 {
		child := 4*i + 1
		if child >= len(h) {
			break
		}
		for k := child + 1; k < min(child+4, len(h)); k++ {
			if h[k].before(&h[child]) {
				child = k
			}
		}
		if !h[child].before(&last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	if len(h) > 0 {
		h[i] = last
	}
	return first
}

// chance is where random numbers come from. They are keyed, not streamed: the
// nth draw of an entity in a domain is a hash of just these, so that leaving
// one fault out leaves all others in place.
type chance struct {
	seed  uint64
	count [domains][entities]uint32
	rate  [domains]uint32 // of 65536
	calm  bool            // no fault strikes
	only  bool            // of all faults, only those in kept strike
	kept  []uint64        // sorted
	hits  []uint64        // faults that struck
}

const entities = 32

func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func faultKey(d domain, entity int, n uint32) uint64 {
	return uint64(d)<<40 | uint64(entity)<<32 | uint64(n)
}

// draw returns the next random number of the entity in the domain.
func (c *chance) draw(d domain, entity int) uint64 {
	n := c.count[d][entity]
	c.count[d][entity]++
	return mix(c.seed + mix(faultKey(d, entity, n)+0x9e3779b97f4a7c15))
}

// upTo draws a number from 0 to n-1.
func (c *chance) upTo(d domain, entity int, n int64) int64 {
	return int64(c.draw(d, entity)>>11) % n
}

// strikes says whether a fault strikes now; the number that comes with it
// decides its details.
func (c *chance) strikes(d domain, entity int) (uint64, bool) {
	n := c.count[d][entity]
	h := c.draw(d, entity)
	hit := uint32(h&0xffff) < c.rate[d]
	key := faultKey(d, entity, n)
	if c.only {
		_, hit = slices.BinarySearch(c.kept, key)
	}
	if !hit || c.calm {
		return 0, false
	}
	c.hits = append(c.hits, key)
	return mix(h), true
}

// heavy spreads a delay over orders of magnitude: half of all are below a
// hundredth of the longest, and a few reach it.
func heavy(h uint64, longest int64) int64 {
	u := h & 0xffff
	scaled := u * u >> 16 * u >> 16 * u >> 16 // u^4
	return 1 + int64(scaled)*(longest>>16)
}
