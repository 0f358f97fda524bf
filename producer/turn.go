package producer

// turn is a queue of partitions in which each stands at most once, so that each
// gets its turn and none two batches in one request. The zero value is empty.
type turn struct {
	list []*partition // list[head:] is the queue
	head int
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
	if t.head > len(t.list)/2 && len(t.list) == cap(t.list) {
		t.compact() // half at least, so that it costs each little
	}
	t.list = append(t.list, p)
}

// compact moves the queue to the front of its memory.
func (t *turn) compact() {
	n := copy(t.list, t.list[t.head:])
	clear(t.list[n:])
	t.list, t.head = t.list[:n], 0
}

// first is the partition whose turn it is, nil if there is none.
func (t *turn) first() *partition {
	if t.head == len(t.list) {
		return nil
	}
	return t.list[t.head]
}

// drop takes the first one out.
func (t *turn) drop() {
	delete(t.in, t.list[t.head])
	t.list[t.head] = nil
	t.head++
}

// keep takes out those for which want says no.
func (t *turn) keep(want func(*partition) bool) {
	t.compact()
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
