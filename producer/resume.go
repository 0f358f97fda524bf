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
	"github.com/twmb/franz-go/pkg/kmsg"
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
			why := errors.Join(slices.Collect(maps.Values(faults))...)
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
	pos := flight.Position{Epoch: id.epoch, Offset: -1}
	if pc, ok := r.partitions[p.place()]; ok {
		pos = flight.Position{Epoch: pc.Epoch, Next: pc.Next, Offset: pc.Offset}
		p.own.Resume(pos, pc.Verified, pc.LogEnd)
	}
	p.carryOn(pos, id)
}
