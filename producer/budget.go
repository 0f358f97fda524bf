package producer

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/atomic"
)

// budget is the memory of buffered records: what was admitted and has no
// outcome yet. Those who wait are served in the order of their coming, but for
// those whose broker has more than its part.
type budget struct {
	limit   int64
	onCrowd func(waiting bool) // the first came to wait, or the last left
	used    atomic.Int64       // changed under the lock, read without
	waiting atomic.Int64

	mu      sync.Mutex
	shares  int
	waiters []*waiter
	closed  bool
}

// share is what the records for one broker use of the budget, so that one that
// is slow or gone does not take the room of the others. Without a bound all
// memory would be full of its records some moments after it stopped.
type share struct{ used int64 } // under the budget's lock

// greed bounds a share by that many times what is free (the dynamic threshold
// of shared switch buffers, Choudhury and Hahne 1998): one broker alone can have
// 4/5, two that are stuck 4/9 each, and something is always left for the next.
const greed = 4

type waiter struct {
	s     *share
	n     int64
	ready chan struct{} // closed when n was granted, or the budget closed
	err   error
}

// newShare makes a share for one more broker.
func (b *budget) newShare() *share {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shares++
	return new(share)
}

// fairLocked reports whether a share may grow by n. There is nobody to be fair
// to where there is one broker, and a share with nothing gets something.
func (b *budget) fairLocked(s *share, n int64) bool {
	return b.shares < 2 || s.used == 0 || s.used+n <= greed*(b.limit-b.used.Load())
}

func (b *budget) fitsLocked(s *share, n int64) bool {
	return b.used.Load()+n <= b.limit && b.fairLocked(s, n)
}

func (b *budget) grantLocked(s *share, n int64) {
	b.used.Add(n)
	s.used += n
}

// drained reports whether a share has its part, while there is room for others.
func (b *budget) drained(s *share, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.fairLocked(s, n) && b.used.Load()+n <= b.limit
}

// tryLocked takes n bytes if they are free and nobody waits for them.
func (b *budget) tryLocked(s *share, n int64) error {
	switch {
	case b.closed:
		return ErrClosed
	case b.queuedLocked() || !b.fitsLocked(s, n):
		return ErrBufferFull
	}
	b.grantLocked(s, n)
	return nil
}

// queuedLocked reports whether someone waits for room, and not only for a
// broker that has its part.
func (b *budget) queuedLocked() bool {
	for _, w := range b.waiters {
		if b.fairLocked(w.s, w.n) {
			return true
		}
	}
	return false
}

// take returns n bytes, or as many as wanted if they are free right now. It
// waits until ctx ends or maxWait is over; a negative maxWait is no bound. n
// must not exceed the limit.
func (b *budget) take(ctx context.Context, s *share, n, wanted int64, maxWait time.Duration) (int64, error) {
	b.mu.Lock()
	if wanted > n && b.tryLocked(s, wanted) == nil {
		b.mu.Unlock()
		return wanted, nil
	}
	err := b.tryLocked(s, n)
	if !errors.Is(err, ErrBufferFull) || maxWait == 0 {
		b.mu.Unlock()
		return n, err
	}
	w := &waiter{s: s, n: n, ready: make(chan struct{})}
	b.waiters = append(b.waiters, w)
	first := len(b.waiters) == 1
	b.waiting.Inc()
	defer b.waiting.Dec()
	b.mu.Unlock()
	if first {
		b.onCrowd(true)
	}
	return n, b.wait(ctx, w, maxWait)
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
		last := b.serveLocked() // the one behind may fit where this one did not (K10, K13)
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
func (b *budget) give(s *share, n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	b.used.Sub(n)
	s.used -= n
	b.serveAndUnlock()
}

// move makes n bytes those of another share.
func (b *budget) move(from, to *share, n int64) {
	if n == 0 || from == to {
		return
	}
	b.mu.Lock()
	from.used -= n
	to.used += n
	b.serveAndUnlock()
}

func (b *budget) serveAndUnlock() {
	crowd := len(b.waiters) > 0
	last := b.serveLocked() && crowd
	b.mu.Unlock()
	if last {
		b.onCrowd(false)
	}
}

// serveLocked serves all waiters that fit, in order, and reports whether none
// is left. Behind one that waits for room nobody is served; one whose broker
// has its part holds up nobody.
func (b *budget) serveLocked() (none bool) {
	kept := b.waiters[:0]
	for i, w := range b.waiters {
		if !b.fairLocked(w.s, w.n) {
			kept = append(kept, w)
			continue
		}
		if b.used.Load()+w.n > b.limit {
			kept = append(kept, b.waiters[i:]...)
			break
		}
		b.grantLocked(w.s, w.n)
		close(w.ready)
	}
	clear(b.waiters[len(kept):])
	b.waiters = kept
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
