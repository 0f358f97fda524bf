package throttle

import (
	"math"
	"math/rand/v2"
	"testing"
)

// K46, KAFKA-7693: sequences never get negative, and distances are right on
// both sides of the wrap.
func TestSequence(t *testing.T) {
	const last = math.MaxInt32
	for _, tc := range []struct {
		from Sequence
		n    int32
		to   Sequence
	}{
		{0, 0, 0},
		{0, 1, 1},
		{last, 0, last},
		{last, 1, 0},
		{last, 2, 1},
		{last - 1, 1, last},
		{2147483640, 10, 2},
		{0, last, last},
		{1, last, 0},
		{last, last, last - 1},
		{5, MaxWindow, MaxWindow + 5},
		{last, MaxWindow, MaxWindow - 1},
	} {
		if got := tc.from.Add(tc.n); got != tc.to {
			t.Errorf("%d + %d: got %d, want %d", tc.from, tc.n, got, tc.to)
		}
		if got := tc.to.Add(-tc.n); got != tc.from {
			t.Errorf("%d - %d: got %d, want %d", tc.to, tc.n, got, tc.from)
		}
		if got := tc.to.Distance(tc.from); got != tc.n {
			t.Errorf("from %d to %d: got %d, want %d", tc.from, tc.to, got, tc.n)
		}
	}
	if got := Sequence(0).Add(math.MinInt32); got != 0 {
		t.Errorf("a whole round back: got %d", got)
	}
}

// Walking on by batches and measuring the distance are the same, wherever the
// walk begins.
func TestSequenceWalks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		from := Sequence(rng.Int32())
		if rng.IntN(2) == 0 {
			from = math.MaxInt32 - Sequence(rng.Int32N(1000))
		}
		at, far := from, int32(0)
		for far < 1000 {
			n := 1 + rng.Int32N(100)
			at, far = at.Add(n), far+n
			if at < 0 {
				t.Fatalf("%d records after %d: negative, %d", far, from, at)
			}
			if got := at.Distance(from); got != far {
				t.Fatalf("from %d to %d: got %d, want %d", from, at, got, far)
			}
		}
	}
}
