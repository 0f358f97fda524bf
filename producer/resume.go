package producer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// resumed is what a lane carries on from.
type resumed struct {
	from       Checkpoint
	topics     map[string]TopicCheckpoint
	partitions map[inspect.Place]PartitionCheckpoint
}

// Resume makes a lane that carries on from a checkpoint, which a former process
// took. The records from the checkpoint on must be produced again, the same ones
// in the same order for each partition. Those that the former process has
// written already are answered with Written and Offset -1 and not sent; the
// others follow in the same epoch. So every record is in the log once, however
// far the former process came.
//
// It asks the brokers about each partition of the checkpoint, for which they
// want READ on the topics (ErrCannotAsk), and refuses where the log is not that
// of the checkpoint, with all reasons in one error: ErrDataLoss, ErrSecondOwner,
// ErrTopicRecreated, ErrOtherCluster, ErrCheckpoint. A leader may lag behind for
// some seconds, so ErrDataLoss takes at least twelve. Resume waits for brokers
// until ctx ends. Where a broker has forgotten the producer ID the lane reads the
// log, from the checkpoint on, with its first record there; it stops with
// ErrStateLost if retention has deleted that part.
//
// The former process may still run, and need not be stopped, as long as it
// produces the same records. docs/exactly-once.md says what holds then.
func (pr *Producer) Resume(ctx context.Context, c Checkpoint) (*Lane, error) {
	if pr.delivery.inCallback() {
		return nil, ErrInCallback
	}
	if pr.closing.Load() {
		return nil, fmt.Errorf("producer: resume: %w", ErrClosed)
	}
	form := c.form()
	if err := form.check(); err != nil {
		return nil, fmt.Errorf("producer: resume: %w", err)
	}
	if c.ProducerID < 0 {
		return nil, fmt.Errorf("producer: resume: %w", badCheckpoint("it names no producer id"))
	}
	l := newLane(pr, true)
	l.resumed = &resumed{from: c, topics: map[string]TopicCheckpoint{}, partitions: map[inspect.Place]PartitionCheckpoint{}}
	for _, tc := range c.Topics {
		l.resumed.topics[tc.Topic] = tc
	}
	for _, pc := range c.Partitions {
		l.resumed.partitions[pc.place()] = pc
	}
	l.stamps.Store(uint32(c.Stamps))
	l.identity.Store(&identity{producerID: c.ProducerID, epoch: c.Epoch, broker: -1})
	pr.add(l)
	if err := l.resume(ctx); err != nil {
		l.shut()
		pr.forget(l)
		return nil, fmt.Errorf("producer: resume: %w", err)
	}
	return l, nil
}

// resume asks about the partitions of the checkpoint until all are found to be
// good, or one is surely not.
func (l *Lane) resume(ctx context.Context) error {
	for _, tc := range l.resumed.from.Topics {
		if _, err := l.topic(tc.Topic); err != nil {
			return err
		}
	}
	for _, pc := range l.resumed.from.Partitions { // of a checkpoint made by hand
		if _, err := l.topic(pc.Topic); err != nil {
			return err
		}
	}
	open := l.resumed.from.Partitions
	l.awaitLeaders(ctx)
	if err := l.sameTopics(ctx); err != nil {
		return err
	}
	backoff := retry.NewBackoff(l.pr.cfg.RetryBackoff, l.pr.cfg.RetryBackoffMax)
	since := map[inspect.Place]time.Time{} // a fault is found there
	for {
		again, faults, err := l.look(ctx, open)
		if err != nil {
			return err
		}
		if err := lasting(since, faults, time.Now()); err != nil {
			return err
		}
		if len(again) == 0 {
			break
		}
		open = again
		l.pr.control.refresh()
		select {
		case <-time.After(backoff.Next(rand.Float64())):
		case <-l.pr.closed:
			return ErrClosed
		case <-ctx.Done():
			why := several(slices.Collect(maps.Values(faults))...)
			return because(fmt.Errorf("%w: %q partition %d cannot be asked about", ctx.Err(), again[0].Topic, again[0].Partition), why)
		}
	}
	for _, pc := range l.resumed.from.Partitions {
		t, err := l.topic(pc.Topic)
		if err != nil {
			return err
		}
		t.partition(*t.parts.Load(), pc.Partition) // so that later checkpoints have it, too
	}
	return nil
}

// awaitLeaders waits until metadata shows who can be asked, but not for long:
// some may have no leader.
func (l *Lane) awaitLeaders(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.pr.cfg.RetryBackoffMax)
	defer cancel()
	_ = l.pr.delivery.await(ctx, func() bool {
		for _, pc := range l.resumed.from.Partitions {
			if b, err := l.leaderOf(pc); b == nil && err == nil {
				return false
			}
		}
		return true
	})
}

// sameTopics waits until the topics of the checkpoint are known, and compares.
func (l *Lane) sameTopics(ctx context.Context) error {
	if err := l.awaitTopics(ctx, func(*topic) bool { return true }); err != nil {
		return err
	}
	for _, tc := range l.resumed.from.Topics {
		t, err := l.topic(tc.Topic)
		if err != nil {
			return err
		}
		if n := len(*t.parts.Load()); n < int(tc.Partitions) {
			return fmt.Errorf("%w: %q has %d partitions, %d when the checkpoint was taken", ErrTopicRecreated, tc.Topic, n, tc.Partitions)
		}
	}
	return nil
}

// lasting joins the faults that have been found for longer than a deposed leader
// goes on: it may lack what the present one has. Since holds when each was found
// first.
func lasting(since map[inspect.Place]time.Time, found map[inspect.Place]error, now time.Time) error {
	maps.DeleteFunc(since, func(at inspect.Place, _ time.Time) bool { return found[at] == nil })
	var errs []error
	for at, err := range found {
		if since[at].IsZero() {
			since[at] = now
		} else if now.Sub(since[at]) >= flight.ZombieSpan {
			errs = append(errs, err)
		}
	}
	return several(errs...)
}

// look asks once about each of the partitions. Again are those that have to be
// asked about once more, for want of an answer or because of a fault.
func (l *Lane) look(ctx context.Context, open []PartitionCheckpoint) (again []PartitionCheckpoint, faults map[inspect.Place]error, err error) {
	faults = map[inspect.Place]error{}
	byBroker := map[*broker][]PartitionCheckpoint{}
	for _, pc := range open {
		b, err := l.leaderOf(pc)
		if err != nil {
			return nil, nil, err
		}
		if b == nil {
			again = append(again, pc)
		} else {
			byBroker[b] = append(byBroker[b], pc)
		}
	}
	for b, pcs := range byBroker {
		answer, err := l.describe(ctx, b, pcs)
		if errors.Is(err, ErrCannotAsk) {
			return nil, nil, err
		}
		if err != nil {
			l.pr.log.Warn("cannot ask a broker about its producers", "broker", b.id, "err", err)
			again = append(again, pcs...)
			continue
		}
		for _, pc := range pcs {
			e, ok := answer.Find(pc.place(), l.resumed.from.ProducerID)
			fault := pc.fault(e)
			switch code := retry.Code(e.Code); {
			case code == retry.TopicAuthorizationFailed:
				return nil, nil, fmt.Errorf("%q: %w: %w", pc.Topic, ErrCannotAsk, code)
			case !ok || code != retry.None:
				again = append(again, pc)
			case fault != nil:
				faults[pc.place()] = fmt.Errorf("%q partition %d: %w", pc.Topic, pc.Partition, fault)
				again = append(again, pc)
			}
		}
	}
	return again, faults, nil
}

// leaderOf returns who can be asked, nil while that is not known.
func (l *Lane) leaderOf(pc PartitionCheckpoint) (*broker, error) {
	t, err := l.topic(pc.Topic)
	if err != nil {
		return nil, err
	}
	if have, want := l.pr.clusterID.Load(), l.resumed.from.ClusterID; have != "" && want != "" && have != want {
		return nil, fmt.Errorf("%w: %q, not %q", ErrOtherCluster, have, want)
	}
	if id := t.id.Load(); id != nil && pc.TopicID != ([16]byte{}) && *id != pc.TopicID {
		return nil, fmt.Errorf("%w: %q", ErrTopicRecreated, pc.Topic)
	}
	if leaders := t.led(); t.parts.Load() != nil && int(pc.Partition) < len(leaders) {
		return leaders[pc.Partition].broker, nil
	}
	return nil, nil
}

// describe asks a broker about partitions that it leads.
func (l *Lane) describe(ctx context.Context, b *broker, pcs []PartitionCheckpoint) (*inspect.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, l.pr.cfg.RequestTimeout)
	defer cancel()
	c, err := l.pr.dial(ctx, b.addr.Load())
	if err != nil {
		return nil, err
	}
	defer c.Abandon()
	var places []inspect.Place
	for _, pc := range pcs {
		places = append(places, pc.place())
	}
	answer, err := inspect.Describe(ctx, c, places, l.resumed.from.ProducerID, &b.portion)
	if errors.Is(err, conn.ErrNotOffered) {
		return nil, fmt.Errorf("%w: %w", ErrCannotAsk, err)
	}
	return answer, err
}

func (pc *PartitionCheckpoint) place() inspect.Place {
	return inspect.Place{Topic: pc.Topic, Partition: pc.Partition}
}

// fault says why the broker's entry does not go with the checkpoint. A broker that
// knows nothing is no fault: with the first record the lane finds out whether it
// has forgotten anything.
func (pc *PartitionCheckpoint) fault(e inspect.Entry) error {
	ahead := throttle.Sequence(e.Last).Add(1).Distance(throttle.Sequence(pc.Next))
	switch {
	case e.Code != 0 || !e.Known:
		return nil
	case e.Epoch > int32(pc.Epoch):
		return fmt.Errorf("%w: epoch %d is there, the checkpoint has %d", ErrSecondOwner, e.Epoch, pc.Epoch)
	case pc.Next == 0 && e.Epoch < int32(pc.Epoch):
		return nil // nothing of this epoch was there yet
	case e.Epoch < int32(pc.Epoch), ahead >= throttle.MaxWindow:
		return fmt.Errorf("%w: epoch %d, sequence %d is there, the checkpoint has %d, %d", ErrDataLoss, e.Epoch, e.Last, pc.Epoch, pc.Next)
	}
	return nil
}

// resume makes a new partition go on where the checkpoint is.
func (p *partition) resume(r *resumed, id *identity) {
	pos := position{epoch: id.epoch, offset: -1}
	if pc, ok := r.partitions[p.place()]; ok {
		pos = position{pc.Epoch, pc.Next, pc.Offset}
		p.pos, p.behind = pos, pos.offset+1
		p.memory.Resume(pc.Verified, pc.LogEnd)
	}
	p.carryOn(pos, id)
}

// carryOn makes the window of a lane begin at a position, and count on other
// processes that write the same records.
func (p *partition) carryOn(at position, id *identity) {
	end := int64(-1)
	if at.offset >= 0 {
		end = at.offset + 1
	}
	p.ident = id
	p.win.Resume(id.producerID, at.epoch, throttle.Sequence(at.next), end)
}

// hearOfOthers acts on the broker's entry where other processes may have
// written the same records, or still write.
func (p *partition) hearOfOthers(e inspect.Entry, report throttle.Report, now time.Time, fx *effects) {
	if p.open != nil && p.sealed.len() == 0 {
		// The answer is about this batch. One that is in the log must not be sent:
		// a broker that forgets the lane in between would take it for new.
		p.shutBatch()
	}
	epoch := int32(p.win.State().Epoch)
	if p.pos.next == 0 && e.Epoch < epoch {
		report.Known = false // of this lane it knows nothing
	}
	read := p.memory.JustRead(p.leader(), p.inquiry.put)
	report.Remembers = !report.Known && (read || p.showsAll(now))
	found := p.win.Hear(report)
	if p.passes(found) && p.encoding > 0 {
		// What is passed over is resolved without being sent; not while someone
		// compresses it.
		p.inquiry.wanted, p.pending.rest = true, true
		return
	}
	if _, ahead := p.aheadInLog(); ahead && !report.Known {
		p.passKnown(fx)
		return // the batches behind are looked at next
	}
	if found == throttle.FoundInside {
		p.recut(p.win.Inside(throttle.Sequence(e.Last)))
		found = p.win.Hear(report)
	}
	if found != throttle.FoundGone && p.suspects(found, now, fx) {
		return
	}
	switch found {
	case throttle.FoundNothing, throttle.FoundPlace:
		p.inquiry.clear = found == throttle.FoundNothing
		p.inquiry.assured = report.Remembers && report.Current || report.Known && e.Epoch == epoch
		if !p.inquiry.assured {
			fx.refresh = true // who says so is no leader
			p.pauseUntil(now)
		}
	case throttle.FoundGone:
		fx.audit = p.newAudit(readChain)
		fx.audit.chain.Next = max(p.memory.End(), p.behind)
		p.inquiry.reading = fx.audit
	case throttle.FoundAhead:
		fx.audit = p.newAudit(proveEntry)
		p.inquiry.reading = fx.audit
	case throttle.FoundLoss:
		p.stopFor(ErrDataLoss, fx)
	default:
		fx.fenced = true
		p.stopFor(ErrSecondOwner, fx)
	}
}

// passes reports whether acting on a finding resolves batches that were not sent.
func (p *partition) passes(found throttle.Finding) bool {
	_, ahead := p.aheadInLog()
	return ahead || found != throttle.FoundNothing && found != throttle.FoundGone
}

// aheadInLog reports whether the log is known to hold more of the lane than is
// resolved here, and up to which sequence.
func (p *partition) aheadInLog() (last throttle.Sequence, ahead bool) {
	return p.memory.Ahead(p.win.Una())
}

// passKnown resolves what the log is known to hold.
func (p *partition) passKnown(fx *effects) {
	if p.open != nil {
		p.shutBatch() // it is compressed if some of it has to be sent
	}
	last, _ := p.aheadInLog()
	p.resolve(p.win.ReadUpTo(last), fx)
	if left := p.win.Inside(last); left > 0 {
		p.recut(left)
		p.resolve(p.win.ReadUpTo(last), fx)
	}
}

func (p *partition) newAudit(kind auditKind) *audit {
	b := p.link.broker
	return &audit{
		kind: kind, p: p, topicID: p.topic.knownID(), addr: b.addr.Load(), leader: p.leader(),
		producerID: p.ident.producerID, asked: p.inquiry.put.Add(-flight.ZombieSpan),
	}
}

// stopFor stops the lane, which cannot go on without a guess. From here on the
// partition sends nothing more; the others hear of it once the lock is free.
func (p *partition) stopFor(why error, fx *effects) {
	l := p.topic.lane
	l.broke(fmt.Errorf("%q partition %d: %w", p.topic.name, p.index, why))
	if p.fatal == nil {
		p.fatal = l.Err()
	}
	fx.failed = true
}

// recut cuts the oldest batch in two, where a former process ended.
func (p *partition) recut(left int32) {
	p.win.Recut(left)
	p.replaceHead(p.sealed.first().splitAt(int(left)))
}

// proved takes what is proved to be replicated of what a former process wrote.
func (p *partition) proved(x *audit, e inspect.Entry, err error, fx *effects, now time.Time) {
	switch {
	case p.encoding > 0:
		p.inquiry.wanted, p.pending.rest = true, true
	case err == nil && e.Known && e.Epoch == int32(p.win.State().Epoch):
		p.memory.AnsweredBy(x.leader)
		p.resolve(p.win.ReadUpTo(throttle.Sequence(e.Last)), fx)
	default:
		p.notRead(err, fx, now)
	}
}

// notRead is for a reading that brought nothing: it is tried again.
func (p *partition) notRead(err error, fx *effects, now time.Time) {
	if errors.Is(err, retry.TopicAuthorizationFailed) {
		p.topic.closedToUs.Store(now)
		return
	}
	fx.refresh = true
	p.pauseUntil(now)
}

// chainRead takes how far the lane is in the log, where the leader does not know
// it. After that the leader's ignorance proves that there is nothing more.
func (p *partition) chainRead(x *audit, c inspect.Chain, err error, fx *effects, now time.Time) {
	switch {
	case errors.Is(err, inspect.ErrDeleted), errors.Is(err, errors.ErrUnsupported):
		p.stopFor(because(ErrStateLost, err), fx)
		return
	case errors.Is(err, inspect.ErrTruncated):
		if !p.lookAgain(now, fx) {
			p.stopFor(because(ErrDataLoss, err), fx)
		}
		return
	case err == nil && c.Known && c.Epoch > int32(p.win.State().Epoch):
		fx.fenced = true
		p.stopFor(ErrSecondOwner, fx)
		return
	}
	if c.Known && c.Epoch == int32(p.win.State().Epoch) {
		p.memory.Saw(throttle.Sequence(c.Last), throttle.Sequence(p.pos.next))
	}
	p.memory.ReadTo(c.Next)
	p.inquiry.wanted = true
	if err != nil {
		p.notRead(err, fx, now)
		return
	}
	p.memory.ReadToEnd(x.leader, x.asked, now)
}

// askFirst is before each write from the gate, when it counts how far a former
// process came.
func (p *partition) askFirst(l *link, now time.Time, fx *effects) next {
	p.inquiry.wanted = true
	if p.asks(l, now) {
		return next{kind: toAsk, number: p.inquiry.number}
	}
	p.stopFor(ErrCannotAsk, fx)
	return next{}
}
