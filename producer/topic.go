package producer

import (
	"fmt"
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/batcher"
	"go.uber.org/atomic"
)

// topic is what a producer keeps of one topic. Until its partitions are known
// records wait here, in order; afterwards nothing takes the lock any more.
type topic struct {
	pr     *Producer
	name   string
	parts  atomic.Pointer[[]*partition]
	id     atomic.Pointer[[16]byte] // of the topic as metadata last showed it
	sticky sticky

	mu      sync.Mutex
	waiting []early
	arrived uint64 // records that came to wait
	left    uint64 // records that went on, or failed
	missed  int    // answers in a row that did not know the topic
	closed  bool
}

// entry is what comes with a record besides its bytes.
type entry struct {
	d      delivery
	cost   int64 // bytes of the budget
	came   time.Time
	urgent bool // someone waits for it: no linger
}

// early is a record that came before the partitions of its topic were known.
type early struct {
	entry
	rec batcher.Record
	pin Pin
}

// add gives a record its place: in a partition, or in the queue before it.
func (t *topic) add(r *batcher.Record, pin Pin, e entry) (int32, error) {
	if parts := t.parts.Load(); parts != nil {
		return t.route(*parts, r, pin, e)
	}
	t.mu.Lock()
	if parts := t.parts.Load(); parts != nil {
		t.mu.Unlock()
		return t.route(*parts, r, pin, e)
	}
	defer t.mu.Unlock()
	if t.closed {
		return -1, ErrClosed
	}
	t.waiting = append(t.waiting, early{entry: e, rec: cloneRecord(r), pin: pin})
	t.arrived++
	return -1, nil
}

// route chooses the partition and appends the record to it.
func (t *topic) route(parts []*partition, r *batcher.Record, pin Pin, e entry) (int32, error) {
	at := int(pin.next) - 1
	switch {
	case pin.next > 0 && at >= len(parts):
		t.pr.control.refresh()
		return int32(at), fmt.Errorf("%w: %q has %d partitions", ErrUnknownPartition, t.name, len(parts))
	case pin.next > 0:
	case r.Key != nil && !t.pr.cfg.PartitionerIgnoreKeys:
		at = keyPartition(r.Key, len(parts))
	default:
		at = t.sticky.pick(parts, int(e.cost), t.pr.cfg.BatchBytes)
	}
	return int32(at), parts[at].append(r, e)
}

func cloneRecord(r *batcher.Record) batcher.Record {
	c := batcher.Record{Key: clone(r.Key), Value: clone(r.Value), Timestamp: r.Timestamp}
	for _, h := range r.Headers {
		c.Headers = append(c.Headers, Header{Key: h.Key, Value: clone(h.Value)})
	}
	return c
}

// clone keeps nil and empty apart (K56).
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// grow makes partitions up to n known. The first time, the waiting records go
// on to theirs before any that come later; so nobody sees the partitions
// before the queue is empty.
func (t *topic) grow(n int) {
	var parts []*partition
	if old := t.parts.Load(); old != nil {
		parts = append(parts, *old...)
	}
	if len(parts) >= n {
		return
	}
	for i := len(parts); i < n; i++ {
		parts = append(parts, newPartition(t, int32(i)))
	}
	for {
		t.mu.Lock()
		batch := t.waiting
		t.waiting = nil
		if len(batch) == 0 {
			t.missed = 0
			t.parts.Store(&parts)
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		t.admit(parts, batch)
	}
}

func (t *topic) admit(parts []*partition, batch []early) {
	for i := range batch {
		e := &batch[i]
		at, err := t.route(parts, &e.rec, e.pin, e.entry)
		if err != nil {
			t.pr.budget.give(e.cost)
			t.pr.delivery.refuse(refusal{t.name, at, e.d, err})
		}
	}
	t.went(uint64(len(batch)))
}

func (t *topic) went(n uint64) {
	t.mu.Lock()
	t.left += n
	t.mu.Unlock()
	t.pr.delivery.signal()
}

// fail gives up the records that wait, those that came before the given time:
// the topic does not exist, or their time is over.
func (t *topic) fail(before time.Time, err error) {
	t.mu.Lock()
	n := 0
	for n < len(t.waiting) && !t.waiting[n].came.After(before) {
		n++
	}
	gone := t.waiting[:n:n]
	t.waiting = t.waiting[n:]
	t.mu.Unlock()
	if n == 0 {
		return
	}
	var cost int64
	for i := range gone {
		cost += gone[i].cost
		t.pr.delivery.refuse(refusal{t.name, -1, gone[i].d, err})
	}
	t.pr.budget.give(cost)
	t.went(uint64(n))
}

// unknownLimit is how many metadata answers in a row may not know a topic
// before its records fail. With retry.backoff.ms between them that is some
// seconds, enough for a topic that is being created.
const unknownLimit = 8

// unknown notes that metadata does not know the topic, or says what is wrong
// with it. A topic whose partitions were seen is not forgotten (K42).
func (t *topic) unknown(err error, final bool) {
	t.mu.Lock()
	t.missed++
	give := t.parts.Load() == nil && (final || t.missed >= unknownLimit)
	if give {
		t.missed = 0
	}
	t.mu.Unlock()
	if give {
		t.fail(time.Now(), err)
	}
}

// close lets no record wait any more and fails those that do.
func (t *topic) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.fail(time.Now(), ErrClosed)
}

// unsettled reports whether records that came to wait before the mark still do.
func (t *topic) unsettled(mark uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left < mark
}

func (t *topic) mark() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.arrived
}

// idle reports whether no record waits for the partitions of the topic.
func (t *topic) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting) == 0
}
