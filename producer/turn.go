package producer

import "github.com/sluice-kafka/sluice/internal/inspect"

// turn is a queue of partitions in which each stands at most once, so that each
// gets its turn and none two batches in one request. The zero value is empty.
type turn struct {
	list queue[*partition]
	in   map[*partition]struct{}
	// behind are those that wait for another lane's turn at the same place:
	// brokers take one batch a place in a request. So of thousands of lanes that
	// write to one, a request does not look at each.
	behind map[inspect.Place]*queue[*partition]
}

func (t *turn) push(p *partition) {
	if _, ok := t.in[p]; ok {
		return
	}
	if t.in == nil {
		t.in = map[*partition]struct{}{}
	}
	t.in[p] = struct{}{}
	t.list.push(p)
}

// first is the partition whose turn it is, nil if there is none.
func (t *turn) first() *partition {
	if t.list.len() == 0 {
		return nil
	}
	return t.list.first()
}

// drop takes the first one out.
func (t *turn) drop() { delete(t.in, t.list.pop()) }

// pass is drop, for one that had nothing: whoever stands behind it comes first.
func (t *turn) pass() {
	p := t.list.first()
	q := t.behind[p.place()]
	if q == nil {
		t.drop()
		return
	}
	delete(t.in, p)
	t.list.all()[0] = t.pull(q, p.place())
}

// wait makes the first one stand behind the lane that had its turn at the place.
func (t *turn) wait() {
	p := t.list.pop()
	if t.behind == nil {
		t.behind = map[inspect.Place]*queue[*partition]{}
	}
	q := t.behind[p.place()]
	if q == nil {
		q = new(queue[*partition])
		t.behind[p.place()] = q
	}
	q.push(p)
}

// next lets one more lane have its turn at a place, if any waits for that.
func (t *turn) next(at inspect.Place) {
	if q := t.behind[at]; q != nil {
		t.list.push(t.pull(q, at))
	}
}

func (t *turn) pull(q *queue[*partition], at inspect.Place) *partition {
	p := q.pop()
	if q.len() == 0 {
		delete(t.behind, at)
	}
	return p
}

// keep takes out those for which want says no.
func (t *turn) keep(want func(*partition) bool) {
	for at := range t.behind {
		for t.behind[at] != nil {
			t.next(at)
		}
	}
	for range t.list.len() {
		if p := t.list.pop(); want(p) {
			t.list.push(p)
		} else {
			delete(t.in, p)
		}
	}
}
