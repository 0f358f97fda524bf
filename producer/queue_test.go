package producer

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A queue does what a slice would, whatever the order of its uses, and holds on
// to nothing that was taken out.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var q queue[*int]
	var want []*int
	for i := range 100_000 {
		switch n := rng.IntN(100); {
		case n < 50 || len(want) == 0:
			q.push(&i)
			want = append(want, &i)
		case n < 99:
			if got := q.pop(); got != want[0] {
				t.Fatalf("step %d: %d, want %d", i, *got, *want[0])
			}
			want = want[1:]
		default: // two in the place of the first
			want = append([]*int{&i, want[0]}, want[1:]...)
			q.replace(append([]*int{&i, q.first()}, q.all()[1:]...))
		}
		if q.len() != len(want) || !slices.Equal(q.all(), want) {
			t.Fatalf("step %d: %d in the queue, want %d", i, q.len(), len(want))
		}
		for _, p := range q.list[:q.head] {
			if p != nil {
				t.Fatalf("step %d: one that was taken out is still there", i)
			}
		}
		for _, p := range q.list[len(q.list):cap(q.list)] {
			if p != nil {
				t.Fatalf("step %d: one that was taken out is still behind the end", i)
			}
		}
	}
}

// In the steady state a queue allocates nothing.
func TestQueueServesAgain(t *testing.T) {
	var q queue[int]
	for i := range 100 {
		q.push(i)
	}
	if n := testing.AllocsPerRun(10_000, func() {
		q.push(q.pop())
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A queue that once was long does not keep all that memory.
func TestQueueGivesMemoryBack(t *testing.T) {
	var q queue[resolved]
	for range 100_000 {
		q.push(resolved{})
	}
	for q.len() > 0 {
		q.pop()
	}
	for range 100_000 { // long after
		q.push(resolved{})
		q.pop()
	}
	if n := cap(q.list); n > 10_000 {
		t.Errorf("room for %d is kept by an empty queue", n)
	}
}
