package producer

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
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
	spare   []*waiter
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

// mostLimit is as good as no limit, and greed times it is still an int64.
const mostLimit = math.MaxInt64 / greed

type waiter struct {
	s         *share
	at        **share // where it is from, see rebook
	n, wanted int64
	ready     chan struct{} // told once when n or more was granted, or the budget closed
	err       error
	timer     *time.Timer
}

// waiterLocked returns one for s. Where the buffer is full someone waits for each
// batch, so they serve again.
func (b *budget) waiterLocked(at **share, n, wanted int64) *waiter {
	var w *waiter
	if last := len(b.spare) - 1; last >= 0 {
		w, b.spare = b.spare[last], b.spare[:last]
	} else {
		w = &waiter{ready: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
		w.timer.Stop()
	}
	w.s, w.at, w.n, w.wanted, w.err = *at, at, n, wanted, nil
	return w
}

func (b *budget) put(w *waiter) {
	const most = 16
	b.mu.Lock()
	defer b.mu.Unlock()
	w.at = nil
	if len(b.spare) < most {
		b.spare = append(b.spare, w)
	}
}

// newShare makes a share for one more broker.
func (b *budget) newShare() *share {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shares++
	return new(share)
}

// dropShare is for a broker that is gone. What its share still has counts.
func (b *budget) dropShare() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shares--
}

// roomLocked is how much a share may take. There is nobody to be fair to where
// there is one broker, and a share with nothing gets something.
func (b *budget) roomLocked(s *share) int64 {
	free := b.limit - b.used.Load()
	if b.fairLocked(s, free) {
		return free
	}
	return greed*free - s.used
}

// fairLocked reports whether a share may grow by n, if that is free.
func (b *budget) fairLocked(s *share, n int64) bool {
	return b.shares < 2 || s.used == 0 || s.used+n <= greed*(b.limit-b.used.Load())
}

func (b *budget) grantLocked(s *share, n int64) int64 {
	b.used.Add(n)
	s.used += n
	return n
}

// drained reports whether a share has its part, while there is room for others.
func (b *budget) drained(s *share, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.fairLocked(s, n) && b.used.Load()+n <= b.limit
}

// tryLocked takes n bytes, or up to as many as wanted, if they are free and
// nobody waits for them.
func (b *budget) tryLocked(s *share, n, wanted int64) (int64, error) {
	if b.closed {
		return 0, ErrClosed
	}
	room := b.roomLocked(s)
	if room < n || b.queuedLocked() {
		return 0, ErrBufferFull
	}
	return b.grantLocked(s, min(max(n, wanted), room)), nil
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

// take returns n bytes, or up to as many as wanted if they are free. It waits for
// n until ctx ends or maxWait is over; a negative maxWait is no bound. n must not
// exceed the limit.
func (b *budget) take(ctx context.Context, s *share, n, wanted int64, maxWait time.Duration) (int64, error) {
	got, _, err := b.takeAt(ctx, &s, n, wanted, maxWait)
	return got, err
}

// takeAt is take for a share that may change meanwhile, by rebook. It says from
// which one the bytes are.
func (b *budget) takeAt(ctx context.Context, at **share, n, wanted int64, maxWait time.Duration) (int64, *share, error) {
	b.mu.Lock()
	got, err := b.tryLocked(*at, n, wanted)
	if !errors.Is(err, ErrBufferFull) || maxWait == 0 {
		s := *at
		b.mu.Unlock()
		return got, s, err
	}
	w := b.waiterLocked(at, n, wanted)
	b.waiters = append(b.waiters, w)
	first := len(b.waiters) == 1
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	b.mu.Unlock()
	if first {
		b.onCrowd(true)
	}
	err = b.wait(ctx, w, maxWait)
	got, s := w.n, w.s
	b.put(w)
	return got, s, err
}

func (b *budget) wait(ctx context.Context, w *waiter, maxWait time.Duration) error {
	var timeout <-chan time.Time
	if maxWait > 0 {
		w.timer.Reset(maxWait)
		defer w.timer.Stop()
		timeout = w.timer.C
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
	b.used.Add(-n)
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

// rebook makes *at another share, to which n bytes go with it, and those who wait
// for room in it: their partition has another leader, and what the former one holds
// of the budget is no reason any more to keep them waiting.
func (b *budget) rebook(at **share, to *share, n int64) {
	b.mu.Lock()
	(*at).used -= n
	to.used += n
	*at = to
	for _, w := range b.waiters {
		if w.at == at {
			w.s = to
		}
	}
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
		if i == len(b.waiters)-1 && len(kept) == 0 { // nobody else waits for the rest
			w.n = min(max(w.n, w.wanted), b.roomLocked(w.s))
		}
		b.grantLocked(w.s, w.n)
		w.ready <- struct{}{}
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
		w.ready <- struct{}{}
	}
	b.waiters = nil
	b.mu.Unlock()
	if crowd {
		b.onCrowd(false)
	}
}
