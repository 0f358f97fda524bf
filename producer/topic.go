package producer

import (
	"errors"
	"sync"
	"time"

	"go.uber.org/atomic"
)

// topic is what a producer keeps of one topic. Until its partitions are known
// records wait here, in order; afterwards only those do that are pinned to a
// partition which metadata does not show yet (K64), and no other takes the lock.
type topic struct {
	pr      *Producer
	lane    *Lane
	name    string
	limit   int // of a batch that a request takes
	parts   atomic.Pointer[slots]
	leaders atomic.Pointer[[]leader] // replaced as a whole, by control
	id      atomic.Pointer[[16]byte] // of the topic as metadata last showed it
	sticky  sticky
	// closedToUs is when a broker last would not answer a question about our state
	// there, see mayAsk.
	closedToUs atomic.Time
	refused    denials      // by metadata
	declared   atomic.Bool  // the lane was made for it, see Producer.Lane
	spread     atomic.Int32 // partitions over which a lane spreads keys; 0: not known yet
	verified   atomic.Time  // of the partitions that have had no record, see verified

	mu      sync.Mutex
	waiting []early
	arrived uint64 // records that came to wait
	moving  int    // groups of them that are neither here nor elsewhere
	missed  int    // answers in a row that did not show what is waited for
	why     error  // of the latest of them
	closed  bool
	gone    bool // see forgetIdle

	quiet quiet
}

// slots has a place for each partition of a topic. One is made with its first
// record: a lane may use few of many.
type slots []atomic.Pointer[partition]

// leader is who leads a partition as metadata last said.
type leader struct {
	broker *broker // nil: nobody
	epoch  int32
}

// early is a record that came before its partition was known. It has its bytes
// of the budget.
type early struct {
	admission
	pin    Pin
	number uint64 // of those that came to wait
}

// knownID is the topic ID, zero while metadata shows none.
func (t *topic) knownID() (id [16]byte) {
	if known := t.id.Load(); known != nil {
		id = *known
	}
	return id
}

// add gives a record its place: in a partition, or in the queue before it. If the
// topic is let go of at that moment, it does so in the one that takes its place.
func (t *topic) add(pin Pin, a *admission) (at int32, err error) {
	for {
		if at, err = t.place(pin, a); !errors.Is(err, errGone) {
			return at, err
		}
		if t, err = t.lane.instead(t); err != nil {
			return at, err
		}
	}
}

func (t *topic) place(pin Pin, a *admission) (int32, error) {
	if parts := t.known(pin); parts != nil {
		return t.seat(parts, pin, a)
	}
	if _, err := t.pr.budget.take(a.ctx, &t.pr.unled, int64(a.size), 0, a.maxWait); err != nil {
		return pin.next - 1, err
	}
	a.arrive(time.Now())
	at, err := t.wait(pin, a)
	if err != nil {
		t.pr.budget.give(&t.pr.unled, int64(a.size))
	}
	return at, err
}

// seat chooses a partition for the record and lets it in there. A few others are
// tried where the broker of the chosen one has too much already.
func (t *topic) seat(parts slots, pin Pin, a *admission) (int32, error) {
	for others := 8; ; others-- {
		at := t.choose(parts, pin, a)
		a.free = a.free && others > 0
		err := t.partition(parts, at).admit(a)
		if !errors.Is(err, errElsewhere) {
			return at, err
		}
		t.sticky.leave(at)
	}
}

// wait puts the record into the queue, unless its partition became known.
func (t *topic) wait(pin Pin, a *admission) (int32, error) {
	t.mu.Lock()
	if parts := t.known(pin); parts != nil {
		t.mu.Unlock()
		at := t.choose(parts, pin, a)
		return at, t.partition(parts, at).settleIn(a)
	}
	if t.closed || t.gone {
		gone := t.gone
		t.mu.Unlock()
		if gone {
			return pin.next - 1, errGone
		}
		return pin.next - 1, ErrClosed
	}
	first := len(t.waiting) == 0
	t.waiting = append(t.waiting, early{admission: a.clone(), pin: pin, number: t.arrived})
	t.arrived++
	if first {
		t.missed = 0
	}
	t.mu.Unlock()
	if first {
		t.pr.control.learn(t.name) // nobody asks for what nobody waits for
	}
	return pin.next - 1, nil
}

// known returns the partitions, nil if they are not known, or not the one that
// a record is pinned to.
func (t *topic) known(pin Pin) slots {
	if parts := t.parts.Load(); parts != nil && int(pin.next) <= len(*parts) {
		return *parts
	}
	return nil
}

// choose finds the partition for a record.
func (t *topic) choose(parts slots, pin Pin, a *admission) int32 {
	switch {
	case pin.next > 0:
		return pin.next - 1
	case a.rec.Key != nil && !t.pr.cfg.PartitionerIgnoreKeys:
		n := len(parts)
		if t.lane.stops {
			n = int(t.spread.Load()) // grow has set it, before anybody sees parts
		}
		return int32(keyPartition(a.rec.Key, n))
	}
	a.free = true
	return t.sticky.pick(parts, t.led())
}

// partition returns the one of the number, which it makes if it is the first to
// want it. Parts is what the caller knows of the topic, or is about to make known.
func (t *topic) partition(parts slots, at int32) *partition {
	if p := parts[at].Load(); p != nil {
		return p
	}
	return t.makePartition(parts, at)
}

func (t *topic) makePartition(parts slots, at int32) *partition {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.parts.Load(); now != nil && int(at) < len(*now) {
		parts = *now
	}
	p := parts[at].Load()
	if p == nil {
		p = newPartition(t, at)
		p.closed, p.gone = t.closed, t.gone
		if leaders := t.led(); int(at) < len(leaders) {
			p.follow(leaders[at])
		}
		parts[at].Store(p)
	}
	return p
}

// lead notes who leads the partitions now.
func (t *topic) lead(leaders []leader) {
	t.mu.Lock()
	t.leaders.Store(&leaders)
	t.mu.Unlock()
	t.sticky.follow(leaders)
	t.each(func(p *partition) {
		if int(p.index) < len(leaders) {
			p.retarget(leaders[p.index])
		}
	})
}

// led is who leads the partitions, as far as that is known.
func (t *topic) led() []leader {
	if leaders := t.leaders.Load(); leaders != nil {
		return *leaders
	}
	return nil
}

// each calls do for every partition that has had a record.
func (t *topic) each(do func(*partition)) {
	parts := t.parts.Load()
	if parts == nil {
		return
	}
	for i := range *parts {
		if p := (*parts)[i].Load(); p != nil {
			do(p)
		}
	}
}

// grow makes partitions up to n known. The records that wait for them go on
// before any that come later; so nobody sees the partitions before the queue is
// empty. Nor does a flush see the records leave the queue before it can see
// them in the partitions (K10).
func (t *topic) grow(n int) {
	old := t.parts.Load()
	if old != nil && len(*old) >= n {
		return
	}
	if t.lane.stops {
		t.fixSpread(int32(n))
	}
	parts := make(slots, n)
	for groups := 0; ; groups++ {
		t.mu.Lock()
		var group []early
		group, t.waiting = divide(t.waiting, n)
		if len(group) == 0 {
			t.missed = 0
			if old != nil {
				for i := range *old {
					parts[i].Store((*old)[i].Load())
				}
			}
			t.parts.Store(&parts)
			t.mu.Unlock()
			t.moved(groups)
			return
		}
		t.moving++
		t.mu.Unlock()
		t.admit(parts, group)
	}
}

// carryOn takes what a checkpoint says of the topic.
func (t *topic) carryOn(tc TopicCheckpoint) {
	t.spread.Store(tc.Partitions)
	t.verified.Store(tc.Verified)
}

// fixSpread keeps a lane at the number of partitions by which it has placed keys.
func (t *topic) fixSpread(n int32) {
	if t.spread.CompareAndSwap(0, n) || t.spread.Load() == n {
		return
	}
	t.pr.log.Warn("partitions were added to a topic; a lane goes on without them, for its keys must not move",
		"topic", t.name, "partitions", n, "lane_uses", t.spread.Load())
}

// divide tells those that have a place among n partitions from the others.
func divide(list []early, n int) (place, none []early) {
	for i := range list {
		if int(list[i].pin.next) <= n {
			place = append(place, list[i])
		} else {
			none = append(none, list[i])
		}
	}
	return place, none
}

func (t *topic) admit(parts slots, batch []early) {
	for i := range batch {
		e := &batch[i]
		at := t.choose(parts, e.pin, &e.admission)
		if err := t.partition(parts, at).settleIn(&e.admission); err != nil {
			t.pr.budget.give(&t.pr.unled, int64(e.size))
			t.pr.delivery.refuse(refusal{t.name, at, e.d, t.lane.refused(), err, t.lane.stops})
		}
	}
}

// moved notes that so many groups of records have arrived elsewhere.
func (t *topic) moved(groups int) {
	if groups == 0 {
		return
	}
	t.mu.Lock()
	t.moving -= groups
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
	if n == 0 {
		t.mu.Unlock()
		return
	}
	gone := t.waiting[:n:n]
	if t.waiting = t.waiting[n:]; len(t.waiting) == 0 {
		t.waiting = nil // with the records of all that went
	}
	t.moving++
	t.mu.Unlock()
	t.lane.fail(err) // before anybody is told, or sees that nothing waits any more
	var cost int64
	for i := range gone {
		cost += int64(gone[i].size)
		t.pr.delivery.refuse(refusal{t.name, gone[i].pin.next - 1, gone[i].d, t.lane.refused(), err, t.lane.stops})
	}
	t.pr.budget.give(&t.pr.unled, cost)
	t.moved(1)
}

// unknownLimit is how many metadata answers in a row may not show a topic, or a
// partition, before the records that wait for it fail. With retry.backoff.ms
// between them that is some seconds, enough for one that is being created.
const unknownLimit = 8

// unknown notes that metadata does not show what records wait for, and why. A
// topic whose partitions were seen is not forgotten for that (K42).
func (t *topic) unknown(err error, final bool) {
	t.mu.Lock()
	t.why = err
	t.missed++
	give := final || t.missed >= unknownLimit
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
	t.shut()
	t.fail(time.Now(), because(ErrClosed, t.obstacle()))
}

// expire gives up the records that came before the given time.
func (t *topic) expire(before time.Time) {
	if !t.idle() {
		t.fail(before, because(ErrDeliveryTimeout, t.obstacle()))
	}
}

// obstacle is why records still wait here, nil if that is not known.
func (t *topic) obstacle() error {
	if err := t.pr.control.lastError(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.why
}

// shut lets no further record wait.
func (t *topic) shut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// unsettled reports whether records that came to wait before the mark still do.
func (t *topic) unsettled(mark uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.moving > 0 || len(t.waiting) > 0 && t.waiting[0].number < mark
}

func (t *topic) mark() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.arrived
}

// idle reports whether no record waits here.
func (t *topic) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting) == 0
}
