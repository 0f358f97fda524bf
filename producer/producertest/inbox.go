package producertest

import "sync"

// inboxBytes is how far a connection is read ahead of what is being served. A
// real broker does not read ahead, but its kernel does; and what was sent
// before an answer can only be known by reading it before answering.
const inboxBytes = 4 << 20

// inbox is the requests of one connection that were read and not yet served.
type inbox struct {
	mu      sync.Mutex
	changed *sync.Cond
	queue   []*request
	bytes   int
	closed  bool // no more will come
	discard bool // nobody serves any more
}

func newInbox() *inbox {
	b := new(inbox)
	b.changed = sync.NewCond(&b.mu)
	return b
}

// push waits while the inbox is full. One request always fits.
func (b *inbox) push(r *request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.bytes > 0 && b.bytes+r.size > inboxBytes && !b.discard {
		b.changed.Wait()
	}
	if b.discard {
		return
	}
	b.queue = append(b.queue, r)
	b.bytes += r.size
	b.changed.Broadcast()
}

// pop waits for a request; nil when no more will come.
func (b *inbox) pop() *request {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) == 0 && !b.closed {
		b.changed.Wait()
	}
	if len(b.queue) == 0 {
		return nil
	}
	r := b.queue[0]
	b.queue[0] = nil
	b.queue = b.queue[1:]
	b.bytes -= r.size
	b.changed.Broadcast()
	return r
}

// close says that no more will come.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.changed.Broadcast()
}

// drop throws away what is there and all that comes.
func (b *inbox) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue, b.bytes, b.discard = nil, 0, true
	b.changed.Broadcast()
}
