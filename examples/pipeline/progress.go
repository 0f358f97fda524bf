package main

import (
	"context"
	"sync"
)

// progress is how far the input is done and saved.
type progress struct {
	mu      sync.Mutex
	saved   map[int32]int64 // offset by partition
	notes   int
	changed chan struct{} // closed at the next change
}

func newProgress() *progress {
	return &progress{saved: map[int32]int64{}, changed: make(chan struct{})}
}

// note notes a checkpoint.
func (p *progress) note(partition int32, offset int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.saved[partition] = max(p.saved[partition], offset)
	p.notes++
	close(p.changed)
	p.changed = make(chan struct{})
}

// wait waits until enough says so, or ctx ends; then the error is its cause.
func (p *progress) wait(ctx context.Context, enough func() bool) error {
	for {
		p.mu.Lock()
		ok, changed := enough(), p.changed
		p.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waitNotes waits for so many checkpoints from now on.
func (p *progress) waitNotes(ctx context.Context, n int) error {
	p.mu.Lock()
	n += p.notes
	p.mu.Unlock()
	return p.wait(ctx, func() bool { return p.notes >= n })
}

// waitSaved waits until all partitions have come to these offsets.
func (p *progress) waitSaved(ctx context.Context, ends map[int32]int64) error {
	return p.wait(ctx, func() bool {
		for partition, end := range ends {
			if p.saved[partition] < end {
				return false
			}
		}
		return true
	})
}
