//go:build !race

package batcher_test

import (
	"testing"

	"github.com/sluice-kafka/sluice/batcher"
)

// TestNoAllocation: in the steady state a record costs no allocation, and
// neither does its batch. (The race detector allocates on its own.)
func TestNoAllocation(t *testing.T) {
	type delivery struct {
		done func(int64)
		tag  any
	}
	r := batcher.Record{
		Key: []byte("key"), Value: make([]byte, 100), Timestamp: 1_790_000_000_000,
		Headers: []batcher.Header{{Key: "h", Value: []byte("v")}},
	}
	done := func(int64) {}
	var b batcher.Batch[delivery]
	b.Reset(make([]byte, 0, 16<<10))
	round := func() {
		for b.Fits(&r, 16<<10) {
			b.Append(&r, delivery{done: done})
			r.Timestamp++
		}
		b.Seal(nil, nil)
		b.Stamp(1, 2, 3)
		raw, _ := b.Release()
		b.Reset(raw)
	}
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations a batch", n)
	}
}
