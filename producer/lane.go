package producer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/internal/wire"
	"go.uber.org/atomic"
)

// Lane is a producer ID of its own on the connections and buffers of a
// Producer: its sequences, its epochs, its failures. A pipeline uses one for
// each input partition, so that each can be stopped, checkpointed and resumed
// by itself (docs/exactly-once.md).
//
// A lane stops at the first record that is not known to be written: nothing
// later is sent. So what it wrote always is a prefix of what was produced, up to
// the records under way in other partitions, and Resume can carry on from the
// last checkpoint. The producer and its other lanes are not concerned.
//
// Another process may carry a lane on that was only taken for dead, so a lane
// counts on company for good: as long as all write the same records, each is in
// the log once. For that a lane asks brokers how far the log is before it begins
// anywhere, which wants READ on the topics (ErrCannotAsk); it begins no epoch of
// its own; and a record that it did not see written is Unknown, never NotWritten.
//
// Its methods may be called by any number of goroutines at once, like those of
// a Producer.
type Lane struct {
	pr       *Producer
	stops    bool // at the first record that is not written
	resumed  *resumed
	identity atomic.Pointer[identity]
	broken   atomic.Pointer[failure]

	topicsMu sync.Mutex
	topics   atomic.Pointer[map[string]*topic] // replaced as a whole
	recent   atomic.Pointer[topic]             // the latest one looked for: most lanes have one
	shutting bool
	closing  atomic.Bool // Close was called
	closed   atomic.Bool // nothing is accepted any more
}

// failure is why a lane has stopped, or can have no checkpoint.
type failure struct{ err error }

func newLane(pr *Producer, stops bool) *Lane {
	l := &Lane{pr: pr, stops: stops}
	l.topics.Store(&map[string]*topic{})
	return l
}

// Lane returns a new lane. It costs nothing before its first record, with which
// it gets its producer ID; thousands are fine. Close ends it, as the end of the
// producer does.
func (pr *Producer) Lane() *Lane {
	l := newLane(pr, true)
	pr.add(l)
	return l
}

func (pr *Producer) add(l *Lane) {
	pr.lanesMu.Lock()
	defer pr.lanesMu.Unlock()
	pr.lanes[l] = struct{}{}
	pr.laned.Store(true)
}

// Produce is Producer.Produce in the lane.
func (l *Lane) Produce(ctx context.Context, rec Record, done func(Result)) {
	l.hand(ctx, &rec, done)
}

func (l *Lane) hand(ctx context.Context, rec *Record, done func(Result)) {
	if at, err := l.produce(ctx, rec, done, l.pr.cfg.MaxBlock, false); err != nil {
		l.fail(err)
		l.pr.delivery.refuse(refusal{rec.Topic, at, delivery{done: done, tag: rec.Tag}, err})
	}
}

// TryProduce is Producer.TryProduce in the lane.
func (l *Lane) TryProduce(rec Record, done func(Result)) error {
	at, err := l.produce(context.Background(), &rec, done, 0, false)
	if err != nil {
		return &RecordError{Topic: rec.Topic, Partition: at, Outcome: NotWritten, Err: err}
	}
	return nil
}

// ProduceSync is Producer.ProduceSync in the lane.
func (l *Lane) ProduceSync(ctx context.Context, rec Record) (Result, error) {
	all := l.ProduceAll(ctx, rec)
	return all[0], all[0].Err
}

// ProduceAll is Producer.ProduceAll in the lane.
func (l *Lane) ProduceAll(ctx context.Context, recs ...Record) Results {
	w := &waitAll{results: make(Results, len(recs)), left: len(recs), all: make(chan struct{})}
	for i := range recs {
		w.results[i] = Result{Topic: recs[i].Topic, Partition: -1, Offset: -1, Tag: recs[i].Tag, Outcome: Unknown}
	}
	pr := l.pr
	if pr.delivery.inCallback() {
		return w.giveUp(NotWritten, ErrInCallback)
	}
	for i := range recs {
		done := func(r Result) { w.done(i, r) }
		if at, err := l.produce(ctx, &recs[i], done, pr.cfg.MaxBlock, true); err != nil {
			l.fail(err)
			re := &RecordError{Topic: recs[i].Topic, Partition: at, Outcome: NotWritten, Err: err}
			pr.stats.outcome(NotWritten, 1)
			w.done(i, Result{
				Topic: recs[i].Topic, Partition: at, Offset: -1, Tag: recs[i].Tag,
				Outcome: NotWritten, Err: re,
			})
		}
	}
	if len(recs) == 0 {
		return nil
	}
	select {
	case <-w.all:
		return w.results
	case <-ctx.Done():
		return w.giveUp(Unknown, ctx.Err())
	}
}

// Err says why the lane has stopped: an error with ErrLaneFailed in its chain,
// and the first record's that was not written. It is nil while the lane goes on.
func (l *Lane) Err() error {
	if f := l.broken.Load(); f != nil && l.stops {
		return f.err
	}
	return nil
}

// fail stops the lane.
func (l *Lane) fail(err error) {
	if !l.broken.CompareAndSwap(nil, &failure{because(ErrLaneFailed, err)}) || !l.stops {
		return
	}
	if !l.pr.closing.Load() {
		l.pr.log.Error("a lane has stopped", "err", err)
	}
	for _, t := range *l.topics.Load() {
		t.fail(time.Now(), l.Err())
	}
	l.each(func(p *partition) { p.stop(l.Err()) })
}

// topic returns the topic of the name, which it makes known to the control loop
// the first time.
func (l *Lane) topic(name string) (*topic, error) {
	if t := l.recent.Load(); t != nil && t.name == name {
		return t, nil
	}
	if t := (*l.topics.Load())[name]; t != nil {
		l.recent.Store(t)
		return t, nil
	}
	if name == "" || len(name) > 249 {
		return nil, fmt.Errorf("%w: a topic name has 1 to 249 bytes, not %d", ErrInvalidRecord, len(name))
	}
	l.topicsMu.Lock()
	old := *l.topics.Load()
	if t := old[name]; t != nil || l.shutting || l.pr.closing.Load() {
		l.topicsMu.Unlock()
		if t == nil {
			return nil, ErrClosed
		}
		return t, nil
	}
	all := make(map[string]*topic, len(old)+1)
	for k, v := range old {
		all[k] = v
	}
	t := &topic{
		pr: l.pr, lane: l, name: name,
		limit: wire.BatchLimit(l.pr.cfg.MaxRequestBytes, l.pr.cfg.ClientID, name),
	}
	all[name] = t
	l.topics.Store(&all)
	l.topicsMu.Unlock()
	if l.identity.Load() == nil {
		l.pr.control.renew(l)
	}
	l.pr.control.learn()
	return t, nil
}

// each calls do for every partition that has had a record.
func (l *Lane) each(do func(*partition)) {
	for _, t := range *l.topics.Load() {
		t.each(do)
	}
}

// shut makes topics and partitions refuse what a Produce still brings.
func (l *Lane) shut() {
	l.closing.Store(true)
	l.closed.Store(true)
	for _, t := range l.allTopics() {
		t.shut()
	}
	l.each((*partition).shut)
}

// allTopics returns the topics, after which no more are made.
func (l *Lane) allTopics() map[string]*topic {
	l.topicsMu.Lock()
	defer l.topicsMu.Unlock()
	l.shutting = true
	return *l.topics.Load()
}
