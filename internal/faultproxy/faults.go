package faultproxy

import (
	"sync"
	"time"
)

// faults is what the test has ordered, and what came of it; all connections of
// a proxy share it.
type faults struct {
	mu       sync.Mutex
	dropping bool
	delay    time.Duration
	damage   int // Produce requests still to be damaged
	stats    Stats

	gate gate // shut while the proxy is paused

	// dropped is called when a response has been condemned; set by tests.
	dropped func()
}

func newFaults() *faults { return &faults{dropped: func() {}} }

func (f *faults) setDropping(drop bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropping = drop
}

func (f *faults) setDelay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// due returns when a byte read now is to arrive.
func (f *faults) due() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Add(f.delay)
}

func (f *faults) setDamage(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.damage = n
}

// corrupt decides whether a Produce request is to be damaged.
func (f *faults) corrupt() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damage == 0 {
		return false
	}
	f.damage--
	f.stats.Corrupted++
	return true
}

func (f *faults) connected() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Connections++
}

// message decides what becomes of a message that begins now. A response is for
// nobody when its client is gone.
func (f *faults) message(dir direction, nobody bool) (drop bool) {
	if drop = f.judge(dir, nobody); drop {
		f.dropped()
	}
	return drop
}

func (f *faults) judge(dir direction, nobody bool) (drop bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case dir == requests:
		f.stats.Requests++
		return false
	case nobody:
		f.stats.Orphans++
		return true
	case f.dropping:
		f.stats.Dropped++
		return true
	default:
		f.stats.Responses++
		return false
	}
}

func (f *faults) halfOpened() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.HalfOpen++
}

func (f *faults) swallowed(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.SwallowedBytes += int64(n)
}

func (f *faults) straggled(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Stragglers += n
}

func (f *faults) forwarded(dir direction, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if dir == requests {
		f.stats.RequestBytes += int64(n)
	} else {
		f.stats.ResponseBytes += int64(n)
	}
}

func (f *faults) counts() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}
