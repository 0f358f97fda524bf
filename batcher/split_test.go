package batcher_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice-kafka/sluice/batcher"
)

// TestSplit (K11, K26): both halves together are the batch, in its order, with
// keys, values, headers, nulls, timestamps and deliveries.
func TestSplit(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{1, 2, 3, 4, 127, 128, 129, 1000} {
		for name, c := range map[string]batcher.Compressor{"plain": nil, "gzip": stdGzip{}} {
			records := randomRecords(rng, n)
			b := fill(records)
			finish(b, c)
			var left, right batcher.Batch[int]
			b.SplitAt((b.Records()+1)/2, &left, &right)

			half := (n + 1) / 2
			if left.Records() != half || right.Records() != n-half {
				t.Fatalf("%d %s: halves of %d and %d", n, name, left.Records(), right.Records())
			}
			got := slices.Concat(left.Deliveries(), right.Deliveries())
			for i, d := range got {
				if d != i {
					t.Fatalf("%d %s: delivery %d came as number %d", n, name, d, i)
				}
			}
			checkRecords(t, finish(&left, c), records[:half])
			checkOwn(t, &left, records[:half])
			if right.Records() > 0 {
				checkRecords(t, finish(&right, c), records[half:])
				checkOwn(t, &right, records[half:])
			}
			if b.Records() != 0 || len(b.Deliveries()) != 0 {
				t.Errorf("%d records are in two batches", b.Records())
			}
			if raw, _ := b.Release(); raw == nil {
				t.Error("the buffer of the split batch was lost")
			}
		}
	}
}

// checkOwn compares a half with the batch that was never part of another.
func checkOwn(t *testing.T, half *batcher.Batch[int], records []batcher.Record) {
	t.Helper()
	own := fill(records)
	if half.FirstTimestamp() != own.FirstTimestamp() || half.MaxTimestamp() != own.MaxTimestamp() || half.OldestTimestamp() != own.OldestTimestamp() {
		t.Error("a half has other timestamps than its records")
	}
	own.Seal(nil, nil)
	if half.Seal(nil, nil); half.Records() != own.Records() {
		t.Error("a half has other records")
	}
}

// TestSplitToTheEnd (K11): halving again and again ends after log2 n rounds with
// single records, in their order.
func TestSplitToTheEnd(t *testing.T) {
	records := randomRecords(rand.New(rand.NewPCG(13, 14)), 1000)
	queue, rounds := []*batcher.Batch[int]{fill(records)}, 0
	for len(queue) < len(records) {
		rounds++
		var next []*batcher.Batch[int]
		for _, b := range queue {
			if b.Records() == 1 {
				next = append(next, b)
				continue
			}
			left, right := new(batcher.Batch[int]), new(batcher.Batch[int])
			finish(b, nil)
			b.SplitAt((b.Records()+1)/2, left, right)
			next = append(next, left, right)
		}
		queue = next
	}
	if rounds > 10 {
		t.Errorf("%d rounds", rounds)
	}
	for i, b := range queue {
		if b.Deliveries()[0] != i {
			t.Fatalf("delivery %d at place %d", b.Deliveries()[0], i)
		}
		checkRecords(t, finish(b, nil), records[i:i+1])
	}
}
