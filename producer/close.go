package producer

import (
	"cmp"
	"context"
	"time"
)

// Flush waits until everything accepted before the call has its outcome and
// its callbacks have run; linger does not count meanwhile. If ctx ends first
// its error is returned, and nothing is withdrawn. From a callback it returns
// ErrInCallback.
func (pr *Producer) Flush(ctx context.Context) error {
	if pr.delivery.inCallback() {
		return ErrInCallback
	}
	return pr.flush(ctx, pr.eachLane)
}

// Flush is Producer.Flush for the records of the lane. It returns nil also where
// some of them are not known to be written: Err says so, at the latest before
// their callbacks run.
func (l *Lane) Flush(ctx context.Context) error {
	if l.pr.delivery.inCallback() {
		return ErrInCallback
	}
	return l.pr.flush(ctx, l.only)
}

func (l *Lane) only(do func(*Lane)) { do(l) }

// flush waits for what is in the lanes.
func (pr *Producer) flush(ctx context.Context, lanes func(func(*Lane))) error {
	pr.hurry.Add(1)
	defer pr.hurry.Add(-1)
	if err := pr.flushTopics(ctx, lanes); err != nil {
		return err
	}
	type mark struct {
		p *partition
		n uint64
	}
	var marks []mark
	lanes(func(l *Lane) {
		l.each(func(p *partition) {
			if n := p.mark(); p.unsettled(n) {
				marks = append(marks, mark{p, n})
				p.nudge()
			}
		})
	})
	refusals := pr.delivery.mark()
	return pr.delivery.await(ctx, func() bool {
		for len(marks) > 0 && !marks[0].p.unsettled(marks[0].n) {
			marks = marks[1:]
		}
		return len(marks) == 0 && !pr.delivery.unsettled(refusals)
	})
}

// flushTopics waits until no record that is there now waits for the partitions
// of its topic to be known.
func (pr *Producer) flushTopics(ctx context.Context, lanes func(func(*Lane))) error {
	marks := map[*topic]uint64{}
	lanes(func(l *Lane) {
		for _, t := range *l.topics.Load() {
			marks[t] = t.mark()
		}
	})
	return pr.delivery.await(ctx, func() bool {
		for t, n := range marks {
			if t.unsettled(n) {
				return false
			}
		}
		return true
	})
}

// Close takes no more records, waits like Flush, and ends the producer. If ctx
// ends first the rest is given up as by Abort and the error of ctx is returned.
// When Close returns all callbacks have run, unless ctx has ended and one of
// them takes longer than 100 ms. Close again waits for the same end. From a
// callback it returns ErrInCallback.
func (pr *Producer) Close(ctx context.Context) error {
	if pr.delivery.inCallback() {
		return ErrInCallback
	}
	var err error
	if !pr.closing.Swap(true) {
		pr.budget.close()
		if err = pr.flush(ctx, pr.eachLane); err == nil {
			// A Produce that overlaps with Close may have got its place behind
			// what the flush waited for (K17).
			pr.eachLane((*Lane).shut)
			err = pr.flush(ctx, pr.eachLane)
		}
		pr.end()
	}
	if !pr.told(ctx) {
		return ctx.Err()
	}
	return err
}

// told waits until all callbacks have run, and reports whether they have. Once
// ctx has ended and nothing more is sent, it waits only for as long as callbacks
// come to an end: one that does not return must not keep Close.
func (pr *Producer) told(ctx context.Context) bool {
	const grace = 100 * time.Millisecond
	select {
	case <-pr.closed:
		return true
	case <-ctx.Done():
	}
	pr.delivery.watched.Store(true)
	for pr.delivery.isStopped() {
		before := pr.delivery.behind.Load()
		select {
		case <-pr.closed:
			return true
		case <-time.After(grace):
			if pr.delivery.behind.Load() == before {
				return false
			}
		}
	}
	return false
}

// Abort ends the producer at once and sends nothing more. Records that may be
// in the log are Unknown, the others NotWritten; their callbacks run, and Abort
// does not wait for them. It may be called from a callback, and during a Close.
func (pr *Producer) Abort() {
	pr.closing.Store(true)
	pr.budget.close()
	go pr.end()
}

// end stops the loops, gives up what is left, and lets the delivery goroutine
// run out.
func (pr *Producer) end() {
	pr.cancel()
	pr.loops.Wait()
	pr.encoders.stop()
	pr.auditor.stop()
	pr.verifier.stop()
	pr.ending.Do(func() {
		pr.eachLane((*Lane).end)
		pr.each((*partition).abort)
		pr.delivery.stop()
	})
}

// end fails what waits for its topic to be known.
func (l *Lane) end() {
	for _, t := range l.allTopics() {
		t.close()
	}
}

// Close takes no more records in the lane, waits like Flush, and forgets it. If
// ctx ends first its error is returned; the records stay in the producer and
// have their outcomes. From a callback it returns ErrInCallback.
func (l *Lane) Close(ctx context.Context) error {
	if l.pr.delivery.inCallback() {
		return ErrInCallback
	}
	l.closing.Store(true)
	err := l.pr.flush(ctx, l.only)
	l.shut() // a Produce that overlaps may have got its place behind that
	if err = cmp.Or(err, l.pr.flush(ctx, l.only)); err != nil {
		return err
	}
	l.pr.forget(l)
	return nil
}

// Abort stops the lane at once, as a failure does, with ErrClosed: nothing more
// is sent, and what was sent has its outcome once it is answered. It is for a
// pipeline that lost its input partition to another process. It does not wait,
// Close does; it may be called from a callback.
func (l *Lane) Abort() {
	l.fail(ErrClosed)
	l.shut()
}

func (pr *Producer) forget(l *Lane) {
	pr.lanesMu.Lock()
	defer pr.lanesMu.Unlock()
	delete(pr.lanes, l)
	pr.control.identified(l) // nobody waits for its ID any more
}

// deadlines gives up records whose time is over. It looks ten times a second,
// and only while there are any.
func (pr *Producer) deadlines(ctx context.Context) {
	const every = 100 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			pr.beat.Inc()
			if pr.budget.used.Load() == 0 {
				continue
			}
			pr.eachLane(func(l *Lane) {
				for _, t := range *l.topics.Load() {
					t.fail(now.Add(-pr.cfg.DeliveryTimeout), because(ErrDeliveryTimeout, pr.control.lastError()))
					t.endDenied(now)
				}
			})
			pr.each(func(p *partition) { p.expire(now) })
		}
	}
}
