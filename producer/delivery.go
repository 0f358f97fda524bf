package producer

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/atomic"
)

// deliverer runs the callbacks, one after the other, on a goroutine of its own,
// so that no callback holds up a socket. Memory and budget of the records are
// free by then: a callback may wait in Produce for room.
type deliverer struct {
	pr        *Producer
	woken     chan struct{}
	goroutine atomic.Uint64 // id of the loop's goroutine
	left      atomic.Uint64 // refusals that had their callback

	mu       sync.Mutex
	ready    []*partition
	refusals []refusal
	refused  uint64
	stopped  bool
	progress chan struct{} // closed and renewed after callbacks, see signal
}

// refusal is a record that found no place in a partition.
type refusal struct {
	topic     string
	partition int32
	d         delivery
	err       error
}

// maxRefusals is how many refusals may wait for their callbacks before Produce
// waits, too: refusing is fast, a callback may be slow (K44).
const maxRefusals = 10_000

func newDeliverer(pr *Producer) deliverer {
	return deliverer{pr: pr, woken: make(chan struct{}, 1), progress: make(chan struct{})}
}

// enqueue notes that the partition has resolved records.
func (d *deliverer) enqueue(p *partition) {
	d.mu.Lock()
	d.ready = append(d.ready, p)
	d.mu.Unlock()
	d.wake()
}

// refuse queues the callback of a record that was not accepted. It reports how
// many wait.
func (d *deliverer) refuse(r refusal) int {
	d.mu.Lock()
	d.refusals = append(d.refusals, r)
	d.refused++
	n := len(d.refusals)
	d.mu.Unlock()
	d.wake()
	return n
}

func (d *deliverer) wake() {
	select {
	case d.woken <- struct{}{}:
	default:
	}
}

func (d *deliverer) stop() {
	d.mu.Lock()
	d.stopped = true
	d.mu.Unlock()
	d.wake()
}

// run delivers until it is stopped and nothing is left.
func (d *deliverer) run() {
	d.goroutine.Store(goroutineID())
	for {
		d.mu.Lock()
		ready, refusals, stopped := d.ready, d.refusals, d.stopped
		d.ready, d.refusals = nil, nil
		d.mu.Unlock()
		if len(ready)+len(refusals) == 0 {
			if stopped {
				return
			}
			<-d.woken
			continue
		}
		for _, r := range refusals {
			d.tell(r)
		}
		for _, p := range ready {
			p.deliver()
		}
		d.signal()
	}
}

func (d *deliverer) tell(r refusal) {
	res := Result{Topic: r.topic, Partition: r.partition, Offset: -1, Tag: r.d.tag, Outcome: NotWritten}
	res.Err = &RecordError{Topic: r.topic, Partition: r.partition, Outcome: NotWritten, Err: r.err}
	d.pr.stats.outcome(NotWritten, 1)
	d.pr.call(r.d.done, res)
	d.left.Inc()
}

// deliver runs the callbacks of what was resolved, in order.
func (p *partition) deliver() {
	for {
		p.mu.Lock()
		batches := p.resolved
		p.resolved = nil
		p.delivering = len(batches) > 0
		p.mu.Unlock()
		if len(batches) == 0 {
			return
		}
		for i := range batches {
			p.deliverBatch(&batches[i])
		}
	}
}

func (p *partition) deliverBatch(r *resolved) {
	deliveries := r.b.Deliveries()
	for i := range deliveries {
		d := &deliveries[i]
		res := Result{
			Topic: p.topic.name, Partition: p.index, Offset: -1,
			Tag: d.tag, Outcome: r.outcome, Err: r.err,
		}
		if r.outcome == Written {
			res.Timestamp = time.UnixMilli(d.timestamp)
			if r.appendTime >= 0 {
				res.Timestamp = time.UnixMilli(r.appendTime)
			}
		}
		if r.offset >= 0 {
			res.Offset = r.offset + int64(i)
		}
		p.pr.call(d.done, res)
	}
	p.delivered.Add(uint64(len(deliveries)))
	r.b.recycle()
}

// call runs one callback. A panic in it is reported and goes no further: the
// records behind it have callbacks, too (K37).
func (pr *Producer) call(done func(Result), r Result) {
	if done == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			pr.stats.panics.Inc()
			pr.log.Error("a delivery callback panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	done(r)
}

// signal wakes those who wait for progress.
func (d *deliverer) signal() {
	d.mu.Lock()
	close(d.progress)
	d.progress = make(chan struct{})
	d.mu.Unlock()
}

// await blocks until ready says yes, looking again after each round of
// callbacks, or ctx ends.
func (d *deliverer) await(ctx context.Context, ready func() bool) error {
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

func (d *deliverer) crowded() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.refusals) >= maxRefusals
}

// inCallback reports whether the caller is a delivery callback.
func (d *deliverer) inCallback() bool { return d.goroutine.Load() == goroutineID() }

// goroutineID reads the number of this goroutine off its stack trace. Go offers
// no other way, and without it a Flush inside a callback could only hang.
func goroutineID() uint64 {
	var buf [64]byte
	var id uint64
	n := runtime.Stack(buf[:], false)
	fmt.Sscanf(string(buf[:n]), "goroutine %d ", &id)
	return id
}
