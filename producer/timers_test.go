package producer

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Partitions come out in the order of their times, each once, at the earliest
// that was asked for.
func TestTimers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	start := time.Now()
	var ts timers
	want := map[*partition]time.Time{}
	parts := make([]*partition, 50)
	for i := range parts {
		parts[i] = new(partition)
	}
	now := start
	for range 20_000 {
		if rng.IntN(3) > 0 {
			p, when := parts[rng.IntN(len(parts))], now.Add(time.Duration(rng.IntN(1000))*time.Millisecond)
			ts.add(when, p)
			if old, ok := want[p]; !ok || when.Before(old) {
				want[p] = when
			}
			continue
		}
		now = now.Add(time.Duration(rng.IntN(50)) * time.Millisecond)
		var last time.Time
		for p := ts.due(now); p != nil; p = ts.due(now) {
			when, ok := want[p]
			if !ok || when.After(now) || when.Before(last) {
				t.Fatalf("a partition due at %v (%v) came after one due at %v, at %v", when, ok, last, now)
			}
			last = when
			delete(want, p)
		}
		for _, when := range want {
			if !when.After(now) {
				t.Fatalf("one due at %v is not there at %v", when, now)
			}
			if ts.first().After(when) {
				t.Fatalf("the first is due at %v, one is at %v", ts.first(), when)
			}
		}
	}
}
