package peer

import (
	"context"
	"sync"
)

// pending counts what is produced and not done, for clients that have no flush
// of their own, and makes their callbacks come one at a time.
type pending struct {
	mu     sync.Mutex
	call   func(*int64, error)
	n      int64
	waiter chan struct{} // closed at zero
}

func (p *pending) init(call func(*int64, error)) { p.call = call }

func (p *pending) add() {
	p.mu.Lock()
	p.n++
	p.mu.Unlock()
}

func (p *pending) done(stamp *int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.call(stamp, err)
	p.n--
	if p.n == 0 && p.waiter != nil {
		close(p.waiter)
		p.waiter = nil
	}
}

func (p *pending) wait(ctx context.Context) error {
	p.mu.Lock()
	if p.n == 0 {
		p.mu.Unlock()
		return nil
	}
	if p.waiter == nil {
		p.waiter = make(chan struct{})
	}
	waiter := p.waiter
	p.mu.Unlock()
	select {
	case <-waiter:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
