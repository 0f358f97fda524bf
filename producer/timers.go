package producer

import (
	"container/heap"
	"time"
)

// timers are the partitions of a sender that are to be looked at later: a
// linger or a backoff ends then.
type timers struct{ h timerHeap }

type timer struct {
	when time.Time
	p    *partition
}

type timerHeap []timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].when.Before(h[j].when) }
func (h timerHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)        { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = timer{}
	*h = old[:len(old)-1]
	return last
}

func (t *timers) add(when time.Time, p *partition) { heap.Push(&t.h, timer{when, p}) }

// first is when the next one is due, zero if there is none.
func (t *timers) first() time.Time {
	if len(t.h) == 0 {
		return time.Time{}
	}
	return t.h[0].when
}

// due takes out one that is due by now, nil if none is.
func (t *timers) due(now time.Time) *partition {
	if len(t.h) == 0 || t.h[0].when.After(now) {
		return nil
	}
	return heap.Pop(&t.h).(timer).p
}
