package producer

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/atomic"
)

// budget is the memory of buffered records: what was admitted and has no
// outcome yet. Those who wait are served in the order of their coming.
type budget struct {
	limit   int64
	onCrowd func(waiting bool) // the first came to wait, or the last left
	used    atomic.Int64       // changed under the lock, read without
	waiting atomic.Int64

	mu      sync.Mutex
	waiters []*waiter
	closed  bool
}

type waiter struct {
	n     int64
	ready chan struct{} // closed when n was granted, or the budget closed
	err   error
}

// tryTakeLocked takes n bytes if they are free and nobody waits for them.
func (b *budget) tryTakeLocked(n int64) error {
	switch {
	case b.closed:
		return ErrClosed
	case len(b.waiters) > 0 || b.used.Load()+n > b.limit:
		return ErrBufferFull
	}
	b.used.Add(n)
	return nil
}

// take waits for n bytes until ctx ends or maxWait is over; a negative maxWait
// is no bound. n must not exceed the limit.
func (b *budget) take(ctx context.Context, n int64, maxWait time.Duration) error {
	b.mu.Lock()
	err := b.tryTakeLocked(n)
	if !errors.Is(err, ErrBufferFull) || maxWait == 0 {
		b.mu.Unlock()
		return err
	}
	w := &waiter{n: n, ready: make(chan struct{})}
	b.waiters = append(b.waiters, w)
	first := len(b.waiters) == 1
	b.waiting.Inc()
	defer b.waiting.Dec()
	b.mu.Unlock()
	if first {
		b.onCrowd(true)
	}
	return b.wait(ctx, w, maxWait)
}

func (b *budget) wait(ctx context.Context, w *waiter, maxWait time.Duration) error {
	var timeout <-chan time.Time
	if maxWait > 0 {
		t := time.NewTimer(maxWait)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-w.ready:
		return w.err
	case <-ctx.Done():
		return b.leave(w, ctx.Err())
	case <-timeout:
		return b.leave(w, ErrBufferFull)
	}
}

// leave gives up waiting, unless the bytes came at the same moment.
func (b *budget) leave(w *waiter, why error) error {
	b.mu.Lock()
	for i, o := range b.waiters {
		if o != w {
			continue
		}
		b.waiters = append(b.waiters[:i], b.waiters[i+1:]...)
		last := b.grantLocked() // the one behind may fit where this one did not (K10, K13)
		b.mu.Unlock()
		if last {
			b.onCrowd(false)
		}
		return why
	}
	b.mu.Unlock()
	<-w.ready
	return w.err
}

// give returns n bytes.
func (b *budget) give(n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	b.used.Sub(n)
	crowd := len(b.waiters) > 0
	last := b.grantLocked() && crowd
	b.mu.Unlock()
	if last {
		b.onCrowd(false)
	}
}

// grantLocked serves all waiters that fit, in order, and reports whether none
// is left.
func (b *budget) grantLocked() (none bool) {
	for len(b.waiters) > 0 && b.used.Load()+b.waiters[0].n <= b.limit {
		w := b.waiters[0]
		b.waiters = b.waiters[1:]
		b.used.Add(w.n)
		close(w.ready)
	}
	return len(b.waiters) == 0
}

// close refuses everyone who waits or comes.
func (b *budget) close() {
	b.mu.Lock()
	b.closed = true
	crowd := len(b.waiters) > 0
	for _, w := range b.waiters {
		w.err = ErrClosed
		close(w.ready)
	}
	b.waiters = nil
	b.mu.Unlock()
	if crowd {
		b.onCrowd(false)
	}
}
