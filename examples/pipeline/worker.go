package main

import (
	"context"
	"time"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/twmb/franz-go/pkg/kgo"
)

// worker does the work of one input partition, and has a lane for it. With the
// records of several input partitions in one lane, their order would be another
// one after a crash.
type worker struct {
	p         *pipeline
	partition int32
	lane      *producer.Lane
	records   chan []*kgo.Record
	next      int64 // offset of the input record to be processed next

	points   chan point
	marked   int64 // next, when the last point was marked
	markedAt time.Time
}

// point is a point in the input, and the mark of the same point in the output.
type point struct {
	next int64
	mark *producer.Mark
}

func newWorker(p *pipeline, partition int32) *worker {
	return &worker{
		p: p, partition: partition, marked: -1,
		records: make(chan []*kgo.Record, 1), points: make(chan point, 1),
	}
}

// open gets the lane, and the place in the input that goes with it.
func (w *worker) open(ctx context.Context, out *producer.Producer, first int64) error {
	state, found, err := w.p.store.Load(w.partition)
	if err != nil {
		return err
	}
	if found {
		w.next = state.Offset
		w.lane, err = out.Resume(ctx, state.Checkpoint)
		return err
	}
	// The first checkpoint comes before the first record: who dies before it
	// has written nothing, who dies after it can be carried on. As the lane is told
	// what it will write to, the checkpoint also holds over how many partitions it
	// spreads the keys, and where their logs ended: from there on they are read
	// where a broker has forgotten the lane.
	w.next, w.lane = first, out.Lane(w.p.output)
	checkpoint, err := w.lane.Checkpoint(ctx)
	if err != nil {
		return err
	}
	return w.p.store.Save(w.partition, State{first, checkpoint})
}

// run works until records is closed, or ctx ends because something failed.
func (w *worker) run(ctx context.Context, fail func(error)) {
	saved := make(chan struct{})
	go func() {
		defer close(saved)
		if err := w.save(ctx); err != nil {
			fail(err)
		}
	}()
	if err := w.process(ctx, fail); err != nil {
		fail(err)
	}
	close(w.points)
	<-saved
}

// process transforms records until there are no more, and from time to time
// marks a point for save.
func (w *worker) process(ctx context.Context, fail func(error)) error {
	done := func(r producer.Result) {
		if r.Err != nil {
			fail(r.Err) // the lane has stopped
		}
	}
	tick := time.NewTicker(w.p.every)
	defer tick.Stop()
	for {
		select {
		case records, more := <-w.records:
			if !more {
				return w.mark(ctx)
			}
			for _, in := range records {
				for _, rec := range w.p.transform(in) {
					rec.Topic = w.p.output
					w.lane.Produce(ctx, rec, done)
				}
				w.next = in.Offset + 1
				if err := w.markIfDue(ctx); err != nil {
					return err
				}
			}
		case <-tick.C:
			if err := w.markIfDue(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// refresh is how old a checkpoint gets when there is no input. With each one the
// lane may look whether the brokers have nothing more of it, while they would still
// know. After that a later life need not read their logs from far back, or find
// that part of them deleted.
func (p *pipeline) refresh() time.Duration { return min(time.Minute, p.expiration/10) }

// markIfDue marks a point if it is time to, and the one before is not waiting.
func (w *worker) markIfDue(ctx context.Context) error {
	age := time.Since(w.markedAt)
	if age < w.p.every || w.next == w.marked && age < w.p.refresh() || len(w.points) > 0 {
		return nil
	}
	return w.mark(ctx)
}

// mark marks the present point. That does not wait for the records before it:
// save does, while this goroutine goes on.
func (w *worker) mark(ctx context.Context) error {
	mark, err := w.lane.Mark(ctx)
	if err != nil {
		return err
	}
	w.marked, w.markedAt = w.next, time.Now()
	select {
	case w.points <- point{w.next, mark}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// save waits for the checkpoint of each point, and stores it.
func (w *worker) save(ctx context.Context) error {
	for at := range w.points {
		checkpoint, err := at.mark.Checkpoint(ctx)
		if err != nil {
			return err
		}
		if err := w.p.store.Save(w.partition, State{at.next, checkpoint}); err != nil {
			return err
		}
		w.p.saved(w.partition, at.next)
	}
	return nil
}
