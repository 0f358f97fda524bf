package faultproxy

import (
	"context"
	"sync"
)

// gate holds back those who want to pass while it is shut. The zero gate is
// open.
type gate struct {
	mu    sync.Mutex
	until chan struct{} // closed when it opens; nil while it is open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.until == nil {
		g.until = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.until != nil {
		close(g.until)
		g.until = nil
	}
}

// pass returns when the gate is open, false if ctx ends first.
func (g *gate) pass(ctx context.Context) bool {
	for {
		g.mu.Lock()
		until := g.until
		g.mu.Unlock()
		if until == nil {
			return ctx.Err() == nil
		}
		select {
		case <-until:
		case <-ctx.Done():
			return false
		}
	}
}
