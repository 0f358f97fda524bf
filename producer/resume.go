package producer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// resumed is what a lane carries on from.
type resumed struct {
	from       Checkpoint
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
// want READ on the topics (ErrCannotAsk), and refuses where carrying on could
// only be a guess, with all reasons in one error: ErrStateLost, ErrDataLoss,
// ErrSecondOwner, ErrTopicRecreated, ErrOtherCluster, ErrCheckpoint. It waits for
// brokers until ctx ends. About a partition that is not in the checkpoint the
// lane asks with its first record, and stops if the answer is of that kind.
//
// The former process must not run any more. What holds if it does is said in
// docs/exactly-once.md.
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
	l.resumed = &resumed{from: c, partitions: map[inspect.Place]PartitionCheckpoint{}}
	for _, pc := range c.Partitions {
		l.resumed.partitions[pc.place()] = pc
	}
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
	for _, pc := range l.resumed.from.Partitions {
		if _, err := l.topic(pc.Topic); err != nil {
			return err
		}
	}
	open := l.resumed.from.Partitions
	l.awaitLeaders(ctx)
	backoff := retry.NewBackoff(l.pr.cfg.RetryBackoff, l.pr.cfg.RetryBackoffMax)
	var before map[inspect.Place]error // faults that one more look may disprove
	for {
		again, faults, err := l.look(ctx, open)
		if err != nil {
			return err
		}
		if err := lasting(before, faults); err != nil {
			return err
		}
		if before = faults; len(again) == 0 {
			break
		}
		open = again
		l.pr.control.refresh()
		select {
		case <-time.After(backoff.Next(rand.Float64())):
		case <-l.pr.closed:
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("%w: %q partition %d cannot be asked about", ctx.Err(), again[0].Topic, again[0].Partition)
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

// lasting joins the faults that were there before: an answer may come from a
// broker that is no longer, or not yet, the leader.
func lasting(before, now map[inspect.Place]error) error {
	var errs []error
	for at, err := range now {
		if before[at] != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
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
		answer, err := l.pr.describe(ctx, b, pcs)
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
			fault := pc.fault(e, l.pr.remembered(l.resumed.from.Taken, time.Now()))
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
func (pr *Producer) describe(ctx context.Context, b *broker, pcs []PartitionCheckpoint) (answer inspect.Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, pr.cfg.RequestTimeout)
	defer cancel()
	c, err := pr.dial(ctx, b.addr.Load())
	if err != nil {
		return answer, err
	}
	defer c.Abandon()
	var q inspect.Question
	for _, pc := range pcs {
		q.Add(pc.place())
	}
	resp, err := c.Do(ctx, q.Request())
	if errors.Is(err, conn.ErrNotOffered) {
		return answer, fmt.Errorf("%w: %w", ErrCannotAsk, err)
	}
	if err != nil {
		return answer, err
	}
	return inspect.Read(resp.(*kmsg.DescribeProducersResponse)), nil
}

func (pc *PartitionCheckpoint) place() inspect.Place {
	return inspect.Place{Topic: pc.Topic, Partition: pc.Partition}
}

// fault says why the broker's entry does not go with the checkpoint. From a fresh
// one on a broker has forgotten nothing: where it knows nothing the partition was
// quiet for long, and still is.
func (pc *PartitionCheckpoint) fault(e inspect.Entry, fresh bool) error {
	ahead := throttle.Sequence(e.Last).Add(1).Distance(throttle.Sequence(pc.Next))
	switch {
	case e.Code != 0:
		return nil
	case e.Known && e.Epoch > int32(pc.Epoch):
		return fmt.Errorf("%w: epoch %d is there, the checkpoint has %d", ErrSecondOwner, e.Epoch, pc.Epoch)
	case pc.Next == 0 && e.Known && e.Epoch < int32(pc.Epoch):
		return nil // nothing of this epoch was there yet
	case !e.Known && fresh:
		return nil
	case !e.Known:
		return fmt.Errorf("%w: it knows nothing of the producer id, and the checkpoint is old", ErrStateLost)
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
		p.pos = pos
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
	epoch := p.win.State().Epoch
	if !e.Known && p.untouched(now) || p.pos.next == 0 && e.Known && e.Epoch < int32(epoch) {
		p.inquiry.assured = true
		return
	}
	found := p.win.Hear(report)
	if found != throttle.FoundNothing && p.encoding > 0 {
		// What is passed over is resolved without being sent; not while someone
		// compresses it.
		p.inquiry.wanted, p.pending.rest = true, true
		return
	}
	if found == throttle.FoundInside {
		p.recut(p.win.Inside(throttle.Sequence(e.Last)))
		found = p.win.Hear(report)
	}
	if p.suspects(found, now, fx) {
		return
	}
	switch found {
	case throttle.FoundNothing, throttle.FoundPlace:
		if p.inquiry.assured = e.Known && e.Epoch == int32(epoch); !p.inquiry.assured {
			fx.refresh = true // who says so is no leader
			p.pauseUntil(now)
		}
	case throttle.FoundAhead:
		fx.audit = &audit{p: p, addr: p.link.broker.addr.Load(), proof: true,
			broker: p.link.broker.id, leaderEpoch: p.leaderEpoch, producerID: p.ident.producerID}
		p.inquiry.reading = fx.audit
	case throttle.FoundLoss:
		fx.gap = p.stopFor(ErrDataLoss)
	case throttle.FoundOther:
		fx.gap, fx.fenced = p.stopFor(ErrSecondOwner), true
	default:
		fx.gap = p.stopFor(ErrStateLost)
	}
}

// untouched reports whether nothing can be missing where the broker knows
// nothing of us: nothing was sent that it could have forgotten, and what a former
// process sent behind the checkpoint it would still remember. It then takes the
// next sequence, whichever that is, from whoever comes first.
func (p *partition) untouched(now time.Time) bool {
	for _, b := range p.sealed.all() {
		if b.maybe && (p.pos != (position{offset: -1}) || !p.pr.remembered(b.created, now)) {
			return false
		}
	}
	if p.pr.sleptSince(p.anchor.acked, now) {
		return false // while this process stood still another one may have come and gone
	}
	r := p.topic.lane.resumed
	return r == nil || !p.anchor.acked.IsZero() || p.pr.remembered(r.from.Taken, now)
}

// remembered reports whether brokers surely still know a producer that wrote
// then, or later.
func (pr *Producer) remembered(then, now time.Time) bool {
	return age(then, now) <= pr.cfg.ProducerIDExpiration/2
}

// stopFor is why the lane stops that cannot go on without a guess.
func (p *partition) stopFor(why error) error {
	return fmt.Errorf("%q partition %d: %w", p.topic.name, p.index, why)
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
		p.acked = acked{x.broker, x.leaderEpoch}
		p.resolve(p.win.ReadUpTo(throttle.Sequence(e.Last)), fx)
	case errors.Is(err, retry.TopicAuthorizationFailed):
		p.topic.closedToUs.Store(now)
	default:
		fx.refresh = true
		p.pauseUntil(now)
	}
}

// askFirst is before each write from the gate, when it counts how far a former
// process came.
func (p *partition) askFirst(l *link, fx *effects) next {
	p.inquiry.wanted = true
	if p.asks(l) {
		return next{kind: toAsk, number: p.inquiry.number}
	}
	fx.gap = p.stopFor(ErrCannotAsk)
	return next{}
}
