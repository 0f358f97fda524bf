// Package bufpool recycles the buffers of record batches. They come in sizes of
// powers of two, so that a buffer that served one batch fits the next one of
// about that size. All functions may be called concurrently.
package bufpool

import (
	"math/bits"
	"sync"
)

const (
	minShift = 9  // 512 bytes: below that a pool costs more than it saves
	maxShift = 24 // 16 MiB: larger batches are rare, and keeping them is dear
)

// Largest is the size of the largest buffers that are kept. Larger ones are
// allocated as asked for and left to the garbage collector.
const Largest = 1 << maxShift

// box carries a slice through a sync.Pool. Putting the slice itself would
// allocate its header each time.
type box struct{ buf []byte }

var (
	classes [maxShift - minShift + 1]sync.Pool // of *box, each with a buffer of that class or somewhat larger
	boxes   = sync.Pool{New: func() any { return new(box) }}
)

// Get returns an empty buffer with room for at least n bytes. What lies in its
// room is arbitrary.
func Get(n int) []byte {
	class := classFor(n)
	if class >= len(classes) {
		return make([]byte, 0, n)
	}
	b, ok := classes[class].Get().(*box)
	if !ok {
		return make([]byte, 0, 1<<(class+minShift))
	}
	buf := b.buf
	b.buf = nil
	boxes.Put(b)
	return buf
}

// Put takes a buffer back, from Get or from anywhere else, grown or not; nil is
// allowed. The caller must not use it any more, and no write of it may be under
// way: the next batch would be sent in its place (KAFKA-19012). In a build with
// the race detector Put overwrites the buffer, so that such a use is reported.
func Put(buf []byte) {
	class := bits.Len(uint(cap(buf))) - 1 - minShift // rounded down: Get must find its n bytes
	if class < 0 || cap(buf) > Largest {
		return
	}
	if raceEnabled {
		overwrite(buf[:cap(buf)])
	}
	b := boxes.Get().(*box)
	b.buf = buf[:0]
	classes[class].Put(b)
}

// classFor returns the smallest class whose buffers have room for n bytes, or
// one that does not exist if there is none.
func classFor(n int) int {
	if n <= 1<<minShift {
		return 0
	}
	return bits.Len(uint(n-1)) - minShift
}

func overwrite(p []byte) {
	p[0] = 0xdb
	for n := 1; n < len(p); n *= 2 {
		copy(p[n:], p[:n])
	}
}
