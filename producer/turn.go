package producer

// turn is a queue of partitions in which each stands at most once, so that each
// gets its turn and none two batches in one request. The zero value is empty.
type turn struct {
	list []*partition
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
	t.list = append(t.list, p)
}

// first is the partition whose turn it is, nil if there is none.
func (t *turn) first() *partition {
	if len(t.list) == 0 {
		return nil
	}
	return t.list[0]
}

// drop takes the first one out.
func (t *turn) drop() {
	delete(t.in, t.list[0])
	t.list[0] = nil
	if t.list = t.list[1:]; len(t.list) == 0 {
		t.list = nil
	}
}

// keep takes out those for which want says no.
func (t *turn) keep(want func(*partition) bool) {
	kept := t.list[:0]
	for _, p := range t.list {
		if want(p) {
			kept = append(kept, p)
		} else {
			delete(t.in, p)
		}
	}
	clear(t.list[len(kept):])
	t.list = kept
}
