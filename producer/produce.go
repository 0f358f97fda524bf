package producer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/batcher"
)

// Produce hands a record over. done is called exactly once with its outcome, on
// the delivery goroutine, one callback at a time; nil is allowed. A record that
// is refused gets its callback too: too large, a bad partition, the producer
// closed, the buffer full, ctx over before.
//
// At a full buffer Produce waits for room, for max.block.ms at most and until
// ctx ends; so it does when callbacks are far behind. ctx bounds that wait only:
// a record that has its place in the order is not withdrawn any more.
func (pr *Producer) Produce(ctx context.Context, rec Record, done func(Result)) {
	pr.main.hand(ctx, &rec, done)
}

// TryProduce is Produce that never waits, not even at a full buffer. A record
// that it refuses gets no callback: the error says why.
func (pr *Producer) TryProduce(rec Record, done func(Result)) error {
	return pr.main.TryProduce(rec, done)
}

// ProduceSync produces a record and waits for its outcome; linger does not
// count. The error is that of the Result. If ctx ends first the record stays
// where it is and may still be written: its Outcome is Unknown, and the error says
// so. One that had no place yet is NotWritten.
func (pr *Producer) ProduceSync(ctx context.Context, rec Record) (Result, error) {
	return pr.main.ProduceSync(ctx, rec)
}

// Results are the results of ProduceAll, in the order of its records.
type Results []Result

// Err returns the first error, nil if all records are written.
func (rs Results) Err() error {
	for i := range rs {
		if rs[i].Err != nil {
			return rs[i].Err
		}
	}
	return nil
}

// ProduceAll produces records and waits for all outcomes; linger does not
// count. If ctx ends first, the records without an outcome have Unknown.
func (pr *Producer) ProduceAll(ctx context.Context, recs ...Record) Results {
	return pr.main.ProduceAll(ctx, recs...)
}

// waitAll collects results until all are there, or nobody waits any more.
type waitAll struct {
	mu      sync.Mutex
	results Results
	callers []caller
	left    int
	gone    bool
	all     chan struct{}
}

// caller is the tag of a record for which a waitAll waits, in the place of a
// callback. It has the tag of the user's.
type caller struct {
	all *waitAll
	at  int
	tag any
}

func newWaitAll(recs []Record) *waitAll {
	w := &waitAll{
		results: make(Results, len(recs)), callers: make([]caller, len(recs)), left: len(recs), all: make(chan struct{}),
	}
	for i := range recs {
		w.results[i] = Result{Topic: recs[i].Topic, Partition: -1, Offset: -1, Tag: recs[i].Tag, Outcome: Unknown}
		w.callers[i] = caller{w, i, recs[i].Tag}
	}
	return w
}

func (x *caller) done(r Result) {
	r.Tag = x.tag
	x.all.done(x.at, r)
}

func (w *waitAll) done(i int, r Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return // the results belong to whoever called now
	}
	w.results[i] = r
	if w.left--; w.left == 0 {
		close(w.all)
	}
}

// giveUp fills in those without an outcome.
func (w *waitAll) giveUp(o Outcome, attempts int, err error) Results {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	for i := range w.results {
		if r := &w.results[i]; r.Outcome == Unknown && r.Err == nil {
			r.Outcome = o
			r.Err = &RecordError{Topic: r.Topic, Partition: r.Partition, Outcome: o, Attempts: attempts, Err: err}
		}
	}
	return w.results
}

// errNoFixedPlace: who resumes the lane would put the record elsewhere.
var errNoFixedPlace = fmt.Errorf("%w: in a lane the partition must follow from the record: "+
	"it needs a key (and partitioner.ignore.keys=false) or a Pin", ErrInvalidRecord)

var (
	errOver = errors.New("the context was over before")
	// errTimestamp: brokers take a negative timestamp for none, and one that wraps
	// would be another one.
	errTimestamp = fmt.Errorf("%w: a timestamp before 1970, or beyond what 64 bits of milliseconds hold", ErrInvalidRecord)
	errNegative  = fmt.Errorf("%w: a negative number", ErrUnknownPartition)
)

// produce gives the record its place, or says why not. The partition is -1 as
// long as none is chosen.
func (l *Lane) produce(ctx context.Context, rec *Record, d delivery, maxWait time.Duration, urgent bool) (int32, error) {
	pr := l.pr
	if ctx.Err() != nil {
		return -1, errOver // no place for a record that nobody wants any more (K12)
	}
	if err := pr.delivery.wait(ctx, maxWait); err != nil {
		return -1, err
	}
	if pr.closing.Load() || l.closing.Load() {
		return -1, ErrClosed
	}
	if err := l.Err(); err != nil {
		return -1, err
	}
	if err := l.owed.refuses(rec); err != nil {
		return -1, err
	}
	t, err := l.topic(rec.Topic)
	if err != nil {
		return -1, err
	}
	switch {
	case rec.Partition.next < 0:
		return -1, errNegative
	case l.stops && rec.Partition.next == 0 && (rec.Key == nil || pr.cfg.PartitionerIgnoreKeys):
		return -1, errNoFixedPlace
	}
	// Field by field: a composite literal is made elsewhere and copied, which
	// costs as much as the encoding.
	var a admission
	a.rec.Key, a.rec.Value, a.rec.Headers = rec.Key, rec.Value, rec.Headers
	a.rec.Measure()
	a.size = batcher.Size(&a.rec)
	if limit := t.limit; a.size > limit || int64(a.size) > pr.cfg.BufferBytes {
		return -1, fmt.Errorf("%w: %d bytes as a batch, a request takes %d (max.request.size) and the buffer %d (buffer.memory)",
			ErrRecordTooLarge, a.size, limit, pr.cfg.BufferBytes)
	}
	a.d.done, a.d.tag = d.done, d.tag
	a.urgent, a.ctx, a.maxWait = urgent, ctx, maxWait
	if a.dated = !rec.Timestamp.IsZero(); a.dated {
		if s := rec.Timestamp.Unix(); s < 0 || s >= math.MaxInt64/1000 {
			return -1, errTimestamp
		}
		a.rec.Timestamp = rec.Timestamp.UnixMilli()
	}
	if err := l.stamped(a.dated); err != nil {
		return -1, err
	}
	at, err := t.add(rec.Partition, &a)
	if err == nil {
		l.owed.paid(rec)
	}
	return at, err
}
