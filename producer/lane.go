package producer

import (
	"context"
	"errors"
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
// Another process may carry on a lane whose owner was only taken for dead. So a
// lane always allows for other owners that write the same records; each record
// is then in the log once. For that a lane asks the leader how far the log is
// before it begins anywhere, which needs READ on the topics (ErrCannotAsk). It
// begins no epoch of its own. And a record that it did not see written, be it
// refused by Produce itself, is Unknown and never NotWritten: another owner may
// have written it.
//
// Either all records of a lane bring a timestamp of their own, or none does: brokers
// forget a producer by the timestamps of its records, so it must be known of those
// to come. The first record decides, and the checkpoint carries it on.
//
// The partition of a record must follow from the record: a lane refuses one that
// has neither a key nor a Pin, or whose key partitioner.ignore.keys ignores. Keys
// are spread over as many partitions as the topic had when the lane learnt of
// it; the checkpoint holds that number, and partitions that are added later get
// records only by a Pin. To use them stop the lane in good order (Flush,
// Checkpoint, Close) and begin a new one.
//
// Its methods may be called by any number of goroutines at once, like those of
// a Producer.
type Lane struct {
	pr       *Producer
	number   int64 // in the order in which lanes were made, from 1; 0: the producer's own
	stops    bool  // at the first record that is not written
	resumed  *resumed
	identity atomic.Pointer[identity]
	broken   atomic.Pointer[failure]
	owed     owed

	// marked is when the first mark was taken: until then no other process can
	// have the producer ID. Zero while there is none.
	marked    atomic.Time
	firstMark sync.Once
	surveyed  atomic.Time   // when the verifier was asked last to look after it
	stamps    atomic.Uint32 // Stamps: whether its records bring timestamps
	awaiting  atomic.Int32  // marks that wait for declared topics to be known

	topicsMu sync.Mutex
	topics   topicSet
	recent   atomic.Pointer[topic] // the latest one looked for: most lanes have one
	shutting bool
	closing  atomic.Bool // Close was called
	closed   atomic.Bool // nothing is accepted any more
}

// failure is why a lane has stopped.
type failure struct {
	err  error
	told atomic.Bool // the log and the other partitions know
}

func newLane(pr *Producer, stops bool) *Lane {
	return &Lane{pr: pr, stops: stops}
}

// Lane returns a new lane. It costs nothing before its first record, with which
// it gets its producer ID; thousands are fine. Close ends it, as the end of the
// producer does.
//
// The topics are those that it will write to. Name them, so that the first
// checkpoint, which is stored before the first record, holds how many partitions
// each has and where its logs end. Records may go to other topics, too. But what
// a lane did in one of those before the next checkpoint can only be carried on
// while the number of its partitions stays the same, and records with old
// timestamps may end in ErrStateLost there. A name that no topic can have stops
// the lane.
func (pr *Producer) Lane(topics ...string) *Lane {
	l := newLane(pr, true)
	pr.add(l)
	for _, name := range topics {
		t, err := l.topic(name)
		if err != nil {
			l.fail(err)
			break
		}
		t.declared.Store(true)
	}
	return l
}

func (pr *Producer) add(l *Lane) {
	pr.lanesMu.Lock()
	defer pr.lanesMu.Unlock()
	pr.lanesMade++
	l.number = pr.lanesMade
	pr.lanes[l] = struct{}{}
	pr.laned.Store(true)
}

// Produce is Producer.Produce in the lane. A record that it refuses stops the lane,
// except where ctx ended, before or while Produce waited for room. Such a record
// was not accepted, as by TryProduce; its callback has the error of the context.
// The lane goes on once the same record is produced again, before any other one,
// with a context that lasts. Another one in its place stops the lane, and until
// then Mark returns an error.
func (l *Lane) Produce(ctx context.Context, rec Record, done func(Result)) {
	l.hand(ctx, &rec, done)
}

func (l *Lane) hand(ctx context.Context, rec *Record, done func(Result)) {
	d := delivery{done: done, tag: rec.Tag}
	if at, err := l.produce(ctx, rec, d, l.pr.cfg.MaxBlock, false); err != nil {
		err, over := l.refuse(ctx, rec, err)
		l.pr.delivery.refuse(refusal{rec.Topic, at, d, l.refused(), err, over})
	}
}

// refuse acts on a record that found no place. A lane stops for it, unless only the
// caller's context ended.
func (l *Lane) refuse(ctx context.Context, rec *Record, err error) (why error, over bool) {
	why = l.pr.refusal(ctx, err)
	var gone *abandoned
	if !l.stops || errors.As(why, &gone) && l.owed.add(rec, gone.waited) {
		return why, false
	}
	l.fail(why)
	return why, true
}

// refused is the outcome of a record that was never sent.
func (l *Lane) refused() Outcome {
	if l.stops {
		return Unknown // another owner of the lane may have written it
	}
	return NotWritten
}

// TryProduce is Producer.TryProduce in the lane.
func (l *Lane) TryProduce(rec Record, done func(Result)) error {
	at, err := l.produce(context.Background(), &rec, delivery{done: done, tag: rec.Tag}, 0, false)
	if err != nil {
		return &RecordError{Topic: rec.Topic, Partition: at, Outcome: l.refused(), Err: l.pr.refusal(context.Background(), err)}
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
	w := newWaitAll(recs)
	pr := l.pr
	if pr.delivery.inCallback() {
		return w.giveUp(l.refused(), 0, ErrInCallback)
	}
	for i := range recs {
		if at, err := l.produce(ctx, &recs[i], delivery{tag: &w.callers[i]}, pr.cfg.MaxBlock, true); err != nil {
			err, over := l.refuse(ctx, &recs[i], err)
			re := &RecordError{Topic: recs[i].Topic, Partition: at, Outcome: l.refused(), Err: err, over: over}
			pr.stats.outcome(re.Outcome, 1)
			w.done(i, Result{
				Topic: recs[i].Topic, Partition: at, Offset: -1, Tag: recs[i].Tag,
				Outcome: re.Outcome, Err: re,
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
		return w.giveUp(Unknown, -1, &abandoned{err: ctx.Err(), placed: true, cause: pr.obstacle()})
	}
}

// Err says why the lane has stopped: an error with ErrLaneFailed in its chain,
// and the first record's that was not written. It is nil while the lane goes on.
func (l *Lane) Err() error {
	if f := l.broken.Load(); f != nil {
		return f.err
	}
	return nil
}

// fail stops the lane.
func (l *Lane) fail(err error) {
	l.broke(err)
	l.spread()
}

// broke notes why the lane stops, if it is one that does. It takes no lock, so
// that a partition can call it under its own: whoever is told of the record finds
// the lane stopped.
func (l *Lane) broke(err error) {
	if l.stops {
		l.broken.CompareAndSwap(nil, &failure{err: because(ErrLaneFailed, err)})
	}
}

// spread tells the log and all that is in the lane that it has stopped. The
// caller holds no lock.
func (l *Lane) spread() {
	f := l.broken.Load()
	if f == nil || f.told.Swap(true) {
		return
	}
	for _, t := range *l.topics.Load() {
		t.fail(time.Now(), f.err)
	}
	l.each(func(p *partition) { p.stop(f.err) })
	if !l.pr.closing.Load() {
		l.pr.log.Error("a lane has stopped", "err", f.err)
	}
}

// topic returns the topic of the name, which it makes known to the control loop
// the first time.
func (l *Lane) topic(name string) (*topic, error) {
	if t := l.recent.Load(); t != nil && t.name == name {
		return t, nil
	}
	if t := l.topics.find(name); t != nil {
		l.recent.Store(t)
		return t, nil
	}
	if name == "" || len(name) > 249 {
		return nil, fmt.Errorf("%w: a topic name has 1 to 249 bytes, not %d", ErrInvalidRecord, len(name))
	}
	l.topicsMu.Lock()
	if t := l.topics.find(name); t != nil || l.shutting || l.pr.closing.Load() {
		l.topicsMu.Unlock()
		if t == nil {
			return nil, ErrClosed
		}
		return t, nil
	}
	t := &topic{
		pr: l.pr, lane: l, name: name,
		limit: wire.BatchLimit(l.pr.cfg.MaxRequestBytes, l.pr.cfg.ClientID, name),
	}
	if l.resumed != nil {
		t.carryOn(l.resumed.topics[name])
	}
	l.topics.add(t)
	l.topicsMu.Unlock()
	if l.identity.Load() == nil {
		l.pr.control.renew(l)
	}
	l.pr.control.learn(name)
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
