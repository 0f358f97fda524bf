package producer

import (
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
	return pr.flush(ctx)
}

func (pr *Producer) flush(ctx context.Context) error {
	pr.hurry.Inc()
	defer pr.hurry.Dec()
	if err := pr.flushTopics(ctx); err != nil {
		return err
	}
	type mark struct {
		p *partition
		n uint64
	}
	var marks []mark
	pr.each(func(p *partition) {
		if n := p.mark(); p.unsettled(n) {
			marks = append(marks, mark{p, n})
			p.nudge()
		}
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
func (pr *Producer) flushTopics(ctx context.Context) error {
	marks := map[*topic]uint64{}
	for _, t := range *pr.topics.Load() {
		marks[t] = t.mark()
	}
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
		if err = pr.flush(ctx); err == nil {
			// A Produce that overlaps with Close may have got its place behind
			// what the flush waited for (K17).
			pr.shut()
			err = pr.flush(ctx)
		}
		pr.end()
	}
	if !pr.told(ctx) {
		return ctx.Err()
	}
	return err
}

// shut makes topics and partitions refuse what a Produce still brings.
func (pr *Producer) shut() {
	for _, t := range pr.allTopics() {
		t.shut()
	}
	pr.each((*partition).shut)
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
	pr.ending.Do(func() {
		for _, t := range pr.allTopics() {
			t.close()
		}
		pr.each((*partition).abort)
		pr.delivery.stop()
	})
}

// allTopics returns the topics once no more can be made.
func (pr *Producer) allTopics() map[string]*topic {
	pr.topicsMu.Lock()
	defer pr.topicsMu.Unlock()
	return *pr.topics.Load()
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
			if pr.budget.used.Load() == 0 {
				continue
			}
			for _, t := range *pr.topics.Load() {
				t.fail(now.Add(-pr.cfg.DeliveryTimeout), because(ErrDeliveryTimeout, pr.control.lastError()))
			}
			pr.each(func(p *partition) { p.expire(now) })
		}
	}
}
