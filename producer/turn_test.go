package producer

import (
	"slices"
	"testing"

	"github.com/sluice-kafka/sluice/internal/inspect"
)

func lanesAt(name string, index int32, n int) []*partition {
	list := make([]*partition, n)
	for i := range list {
		list[i] = &partition{topic: &topic{name: name}, index: index}
	}
	return list
}

// request is what the sender does with a turn: it looks at the first until none
// is left, takes at most one a place of those that have something, and lets one
// more stand in line for each place. It returns who was taken, and how often it
// looked.
func (t *turn) request(has func(*partition) bool) (taken []*partition, looks int) {
	in := map[inspect.Place]bool{}
	for p := t.first(); p != nil; p = t.first() {
		if looks++; in[p.place()] {
			t.wait()
			continue
		}
		if has(p) {
			t.drop()
			in[p.place()] = true
			taken = append(taken, p)
		} else {
			t.pass()
		}
	}
	for at := range in {
		t.next(at)
	}
	for _, p := range taken {
		t.push(p)
	}
	return taken, looks
}

// Lanes that write to one partition have their turns in order, none is looked
// at again and again before it, and none is forgotten.
func TestTurnOfManyLanes(t *testing.T) {
	const n = 1000
	var queue turn
	lanes := lanesAt("t", 0, n)
	for _, p := range lanes {
		queue.push(p)
		queue.push(p)
	}
	batches := map[*partition]int{}
	for _, p := range lanes {
		batches[p] = 3
	}
	looks := 0
	var order []*partition
	for queue.first() != nil {
		taken, l := queue.request(func(p *partition) bool { return batches[p] > 0 })
		looks += l
		for _, p := range taken {
			batches[p]--
		}
		order = append(order, taken...)
	}
	if want := slices.Concat(lanes, lanes, lanes); !slices.Equal(order, want) {
		t.Errorf("%d turns, not in the order of the lanes", len(order))
	}
	if looks > 10*n {
		t.Errorf("looked %d times at %d lanes with 3 batches each", looks, n)
	}
}

// A lane that has nothing lets the next one forward at once.
func TestTurnPassesOverTheIdle(t *testing.T) {
	var queue turn
	lanes := lanesAt("t", 0, 10)
	for _, p := range lanes {
		queue.push(p)
	}
	busy := func(p *partition) bool { return p == lanes[0] || p == lanes[9] }
	for _, want := range []*partition{lanes[0], lanes[9], lanes[0]} {
		taken, _ := queue.request(busy)
		if len(taken) != 1 || taken[0] != want {
			t.Fatal("the wrong lane had its turn")
		}
	}
}

// When a connection ends nobody stays behind.
func TestTurnKeepsThoseBehind(t *testing.T) {
	var queue turn
	lanes := slices.Concat(lanesAt("t", 0, 5), lanesAt("t", 1, 5))
	for _, p := range lanes {
		queue.push(p)
	}
	queue.request(func(*partition) bool { return true })
	looked := map[*partition]bool{}
	queue.keep(func(p *partition) bool {
		looked[p] = true
		return p.index == 1
	})
	if len(looked) != len(lanes) {
		t.Errorf("%d of %d were looked at", len(looked), len(lanes))
	}
	kept := 0
	for queue.first() != nil {
		queue.drop()
		kept++
	}
	if kept != 5 {
		t.Errorf("%d were kept", kept)
	}
}
