package producer

import (
	"container/heap"
	"time"
)

// timers are the partitions of a sender that are to be looked at later: a
// linger or a backoff ends then. Each is there once, with the earliest of its
// times. The zero value is empty.
type timers struct {
	heap timerHeap
	of   map[*partition]*timer
	free []*timer
}

type timer struct {
	when time.Time
	p    *partition
	at   int // in the heap
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].when.Before(h[j].when) }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.at = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}

func (t *timers) add(when time.Time, p *partition) {
	if x := t.of[p]; x != nil {
		if when.Before(x.when) {
			x.when = when
			heap.Fix(&t.heap, x.at)
		}
		return
	}
	x := t.spare()
	x.when, x.p = when, p
	heap.Push(&t.heap, x)
	if t.of == nil {
		t.of = map[*partition]*timer{}
	}
	t.of[p] = x
}

func (t *timers) spare() *timer {
	n := len(t.free)
	if n == 0 {
		return new(timer)
	}
	x := t.free[n-1]
	t.free = t.free[:n-1]
	return x
}

// first is when the next one is due, zero if there is none.
func (t *timers) first() time.Time {
	if len(t.heap) == 0 {
		return time.Time{}
	}
	return t.heap[0].when
}

// due takes out one that is due by now, nil if none is.
func (t *timers) due(now time.Time) *partition {
	if len(t.heap) == 0 || t.heap[0].when.After(now) {
		return nil
	}
	x := heap.Pop(&t.heap).(*timer)
	p := x.p
	x.p = nil
	t.free = append(t.free, x)
	delete(t.of, p)
	return p
}
