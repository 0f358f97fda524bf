package faultproxy

import (
	"context"
	"sync"
	"time"
)

// faults is what the test has ordered, and what came of it; all connections of
// a proxy share it.
type faults struct {
	mu       sync.Mutex
	dropping bool
	delay    time.Duration
	gate     chan struct{} // closed by resume; nil while not paused
	stats    Stats

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

func (f *faults) pause() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gate == nil {
		f.gate = make(chan struct{})
	}
}

func (f *faults) resume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gate != nil {
		close(f.gate)
		f.gate = nil
	}
}

// passGate returns when the proxy is not paused, false if ctx ends first.
func (f *faults) passGate(ctx context.Context) bool {
	for {
		f.mu.Lock()
		gate := f.gate
		f.mu.Unlock()
		if gate == nil {
			return ctx.Err() == nil
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return false
		}
	}
}

func (f *faults) connected() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.Connections++
}

// message decides what becomes of a message that begins now.
func (f *faults) message(dir direction) (drop bool) {
	if drop = f.judge(dir); drop {
		f.dropped()
	}
	return drop
}

func (f *faults) judge(dir direction) (drop bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case dir == requests:
		f.stats.Requests++
	case f.dropping:
		f.stats.Dropped++
		return true
	default:
		f.stats.Responses++
	}
	return false
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
