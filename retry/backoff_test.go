package retry

import (
	"math"
	"testing"
	"time"
)

const ms = time.Millisecond

func pauses(b *Backoff, n int, jitter float64) []time.Duration {
	var all []time.Duration
	for range n {
		all = append(all, b.Next(jitter))
	}
	return all
}

func wantPauses(t *testing.T, got []time.Duration, want ...time.Duration) {
	t.Helper()
	for i := range want {
		if got[i].Round(ms) != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// KIP-580: doubled from 100 ms to 1 s, spread by 20 %.
func TestBackoffGrows(t *testing.T) {
	b := NewBackoff(100*ms, 1000*ms)
	wantPauses(t, pauses(&b, 6, 0.5), 100*ms, 200*ms, 400*ms, 800*ms, 900*ms, 900*ms)
	b.Reset()
	wantPauses(t, pauses(&b, 6, 0), 80*ms, 160*ms, 320*ms, 640*ms, 800*ms, 800*ms)
	b.Reset()
	wantPauses(t, pauses(&b, 6, math.Nextafter(1, 0)), 120*ms, 240*ms, 480*ms, 960*ms, 1000*ms, 1000*ms)
}

// Same jitter, same pauses: nothing but the arguments decides.
func TestBackoffIsPure(t *testing.T) {
	a, b := NewBackoff(7*ms, 500*ms), NewBackoff(7*ms, 500*ms)
	for i := range 40 {
		jitter := float64(i%10) / 10
		if x, y := a.Next(jitter), b.Next(jitter); x != y {
			t.Fatalf("pause %d: %v and %v", i, x, y)
		}
	}
}

func TestBackoffIsBounded(t *testing.T) {
	for _, c := range []struct{ initial, max time.Duration }{
		{0, 0}, {-time.Hour, -time.Hour}, {100 * ms, 0}, {100 * ms, 90 * ms},
		{ms, time.Hour}, {1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64},
	} {
		b := NewBackoff(c.initial, c.max)
		longest := max(c.max, c.initial, ms)
		for _, jitter := range []float64{0, 0.999, 1, 7, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
			b.Reset()
			for i := range 100 {
				if p := b.Next(jitter); p < 4*ms/5 || p > longest {
					t.Fatalf("NewBackoff(%v, %v), jitter %v: pause %d is %v", c.initial, c.max, jitter, i, p)
				}
			}
		}
	}
	var zero Backoff
	if p := zero.Next(1); p != ms {
		t.Errorf("zero value pauses %v", p)
	}
}

// A partition that never fails pays nothing for its backoff.
func TestIdleBackoffAllocatesNothing(t *testing.T) {
	var kept Backoff
	if n := testing.AllocsPerRun(100, func() {
		kept = NewBackoff(100*ms, 1000*ms)
		kept.Reset()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
