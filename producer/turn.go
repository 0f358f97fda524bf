package producer

// turn is a queue of partitions in which each stands at most once, so that each
// gets its turn and none two batches in one request. The zero value is empty.
type turn struct {
	list queue[*partition]
	in   map[*partition]struct{}
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

// keep takes out those for which want says no.
func (t *turn) keep(want func(*partition) bool) {
	for range t.list.len() {
		if p := t.list.pop(); want(p) {
			t.list.push(p)
		} else {
			delete(t.in, p)
		}
	}
}
