package producer

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// deliverer runs the callbacks, one after the other, on a goroutine of its own,
// so that no callback holds up a socket. Memory and budget of the records are
// free by then: a callback may wait in Produce for room.
type deliverer struct {
	pr        *Producer
	woken     chan struct{}
	goroutine atomic.Uint64 // id of the loop's goroutine
	inside    atomic.Bool   // a callback of the user's runs
	left      atomic.Uint64 // refusals that had their callback
	behind    atomic.Int64  // records that wait for theirs
	awaiting  atomic.Int32  // callers of await
	watched   atomic.Bool   // behind is to be exact, and not only after each batch

	mu       sync.Mutex
	ready    queue[*partition]
	refusals queue[refusal]
	refused  uint64
	due      uint64 // refusals before the end, which waits for their callbacks
	stopped  bool
	ended    bool          // the loop is over: it was stopped, and nothing was left
	progress chan struct{} // closed and renewed after callbacks, see signal

	// Of the loop alone. They are here since a callback may end the goroutine,
	// as t.FailNow does (K37): another one goes on.
	now   round
	first sync.Once
}

// round is what the loop has before it, without what it has begun.
type round struct {
	refusals queue[refusal]
	ready    queue[*partition]
	p        *partition // whose batches follow
	batches  queue[resolved]
	records  int // of the first batch that had their callback
}

// refusal is a record that found no place in a partition.
type refusal struct {
	topic     string
	partition int32
	d         delivery
	outcome   Outcome
	err       error
	over      bool // the lane has stopped
}

// maxBehind is how many records may wait for their callbacks before Produce
// waits, too: buffers are free by then, but records that fail can come faster
// than callbacks run (K44).
const maxBehind = 1 << 18

func newDeliverer(pr *Producer) deliverer {
	return deliverer{pr: pr, woken: make(chan struct{}, 1), progress: make(chan struct{})}
}

// enqueue notes that the partition has resolved records.
func (d *deliverer) enqueue(p *partition) {
	d.mu.Lock()
	d.ready.push(p)
	d.mu.Unlock()
	d.wake()
}

// refuse queues the callback of a record that was not accepted.
func (d *deliverer) refuse(r refusal) {
	d.behind.Add(1)
	d.mu.Lock()
	d.refusals.push(r)
	d.refused++
	late := d.ended
	d.ended = false
	d.mu.Unlock()
	if late {
		go d.run() // the producer is closed, and this one has a callback, too (K17)
	} else {
		d.wake()
	}
}

// wait blocks while callbacks are too far behind. A callback itself does not
// wait for its own kind.
func (d *deliverer) wait(ctx context.Context, maxWait time.Duration) error {
	if d.behind.Load() < maxBehind {
		return nil
	}
	return d.catchUp(ctx, maxWait)
}

func (d *deliverer) catchUp(ctx context.Context, maxWait time.Duration) error {
	if d.inCallback() {
		return nil
	}
	if maxWait == 0 {
		return ErrBufferFull
	}
	bounded := ctx
	if maxWait > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, maxWait)
		defer cancel()
	}
	if d.await(bounded, func() bool { return d.behind.Load() < maxBehind }) != nil {
		return cmp.Or(ctx.Err(), ErrBufferFull)
	}
	return nil
}

func (d *deliverer) wake() {
	select {
	case d.woken <- struct{}{}:
	default:
	}
}

// stop lets the loop run out. What was accepted or refused until now has its callback
// before the end. What is refused later, perhaps in a callback, and so on for ever,
// has one, too, and nobody waits for it.
func (d *deliverer) stop() {
	d.mu.Lock()
	if !d.stopped {
		d.stopped, d.due = true, d.refused
	}
	d.mu.Unlock()
	d.wake()
}

// end closes the producer once all callbacks have run that it waits for.
func (d *deliverer) end() {
	d.mu.Lock()
	left := !d.stopped || d.left.Load() < d.due || d.ready.len() > 0
	d.mu.Unlock()
	if !left && d.now.ready.len()+d.now.batches.len() == 0 {
		d.close()
	}
}

func (d *deliverer) close() { d.first.Do(func() { close(d.pr.closed) }) }

func (d *deliverer) isStopped() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stopped
}

// run delivers until it is stopped and nothing is left.
func (d *deliverer) run() {
	d.goroutine.Store(goroutineID())
	over := false
	defer func() {
		if !over {
			go d.run() // a callback ended this goroutine
		}
	}()
	for d.next() {
		d.tellAll()
	}
	over = true
	d.close() // d.now is that of another loop by now, if there is one
	d.signal()
}

// next waits for the next round, and reports false if there is none.
func (d *deliverer) next() bool {
	for !d.now.begun() {
		d.mu.Lock()
		// The two of each, the one that fills and the one that empties, change places.
		d.now.ready, d.ready = d.ready, d.now.ready
		d.now.refusals, d.refusals = d.refusals, d.now.refusals
		d.ended = d.stopped && !d.now.begun()
		ended := d.ended
		d.mu.Unlock()
		if ended {
			return false
		}
		if !d.now.begun() {
			<-d.woken
		}
	}
	return true
}

func (r *round) begun() bool { return r.refusals.len()+r.ready.len()+r.batches.len() > 0 }

// tellAll runs the callbacks of the round. What is to be done with a callback
// is noted before it runs: it may not return.
func (d *deliverer) tellAll() {
	r := &d.now
	for r.ready.len()+r.batches.len() > 0 {
		if r.batches.len() == 0 {
			r.p = r.ready.pop()
			r.p.swapResolved(&r.batches)
		}
		for r.batches.len() > 0 {
			r.p.deliver(&r.batches.all()[0], &r.records)
			r.batches.pop()
			r.records = 0
			d.signal()
		}
		if r.p.moreResolved() {
			d.enqueue(r.p) // behind the others
		}
	}
	r.p = nil
	for r.refusals.len() > 0 { // behind the batches: in the end there may be no end of them
		if d.pr.stopping.Load() {
			d.end()
		}
		d.tell(r.refusals.pop())
	}
	d.signal()
}

func (d *deliverer) tell(r refusal) {
	res := Result{Topic: r.topic, Partition: r.partition, Offset: -1, Tag: r.d.tag, Outcome: r.outcome}
	res.Err = &RecordError{Topic: r.topic, Partition: r.partition, Outcome: r.outcome, Err: r.err, over: r.over}
	d.pr.stats.outcome(r.outcome, 1)
	defer func() {
		d.left.Add(1)
		d.signal() // a round may be long, and Produce waits for the first of it
	}()
	d.pr.call(&r.d, res)
}

// swapResolved takes what was resolved, for an empty queue.
func (p *partition) swapResolved(q *queue[resolved]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resolved, *q = *q, p.resolved
}

// moreResolved reports whether the partition has to stand in the queue again.
func (p *partition) moreResolved() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delivering = p.resolved.len() > 0
	return p.delivering
}

// deliver runs the callbacks of a batch that was resolved, in order, but for
// those of which done says that they ran before.
func (p *partition) deliver(r *resolved, done *int) {
	deliveries := r.b.Deliveries()
	for *done < len(deliveries) {
		p.callEach(r, deliveries, done)
	}
	p.delivered.Add(uint64(len(deliveries)))
	r.b.recycle()
}

// callEach runs callbacks until they are all done, or one did not return.
func (p *partition) callEach(r *resolved, deliveries []delivery, done *int) {
	first, returned := *done, false
	defer p.pr.delivery.inside.Store(false) // behind failed, which logs
	defer func() {
		p.pr.delivery.behind.Add(-int64(*done - first))
		if !returned {
			p.pr.failed(recover())
		}
	}()
	res := p.result(r)
	stamped := r.appendTime // what res.Timestamp is made of
	for *done < len(deliveries) {
		d := &deliveries[*done]
		res.Tag = d.tag
		if r.offset >= 0 {
			res.Offset = r.offset + int64(*done)
		}
		if r.outcome == Written && r.appendTime < 0 && d.timestamp != stamped {
			res.Timestamp, stamped = time.UnixMilli(d.timestamp), d.timestamp
		}
		*done++
		p.pr.delivery.hand(d, res)
		if p.pr.delivery.watched.Load() {
			p.pr.delivery.behind.Add(-int64(*done - first))
			first = *done
		}
	}
	returned = true
}

// result has what is the same for all records of a batch.
func (p *partition) result(r *resolved) Result {
	res := Result{Topic: p.topic.name, Partition: p.index, Offset: -1, Outcome: r.outcome, Err: r.err}
	if r.outcome == Written {
		res.Timestamp = time.UnixMilli(r.appendTime)
	}
	return res
}

// call runs the callback of a refusal.
func (pr *Producer) call(d *delivery, r Result) {
	returned := false
	defer pr.delivery.inside.Store(false)
	defer func() {
		pr.delivery.behind.Add(-1)
		if !returned {
			pr.failed(recover())
		}
	}()
	pr.delivery.hand(d, r)
	returned = true
}

// hand gives a result to whoever wants it.
func (d *deliverer) hand(to *delivery, r Result) {
	if to.done != nil {
		d.inside.Store(true)
		to.done(r)
	} else if w, waits := to.tag.(*caller); waits {
		w.done(r)
	}
}

// failed reports a callback that did not return. A panic goes no further, and
// neither does an end of the goroutine (runtime.Goexit): the records behind it
// have callbacks, too (K37).
func (pr *Producer) failed(panicked any) {
	pr.stats.panics.Add(1)
	if panicked != nil {
		pr.log.Error("a delivery callback panicked", "panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
	} else {
		pr.log.Error("a delivery callback ended its goroutine", "stack", string(debug.Stack()))
	}
}

// signal wakes those who wait for progress.
func (d *deliverer) signal() {
	if d.awaiting.Load() == 0 {
		return
	}
	d.mu.Lock()
	close(d.progress)
	d.progress = make(chan struct{})
	d.mu.Unlock()
}

// await blocks until ready says yes, looking again after each round of
// callbacks, or ctx ends.
func (d *deliverer) await(ctx context.Context, ready func() bool) error {
	d.awaiting.Add(1)
	defer d.awaiting.Add(-1)
	for {
		d.mu.Lock()
		progress := d.progress
		d.mu.Unlock()
		if ready() { // looked at after the channel was taken: no wake-up is lost (K10)
			return nil
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// unsettled reports whether refusals before the mark wait for their callback.
func (d *deliverer) unsettled(mark uint64) bool { return d.left.Load() < mark }

func (d *deliverer) mark() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused
}
