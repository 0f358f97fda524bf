package producer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/throttle"
)

// What follows is flight.Shell: what the owner of the partition has done with the
// batches. It is called under the partition's lock.

// Sealed is the number of batches without an outcome that are sealed.
func (p *partition) Sealed() int { return p.sealed.len() }

// History returns what is remembered of one of them.
func (p *partition) History(i int) *flight.History { return &p.sealed.all()[i].History }

// Resolve takes resolved batches off the queue.
func (p *partition) Resolve(r throttle.Resolution, why flight.Cause) {
	switch why {
	case flight.StateLost, flight.DataLoss, flight.TopicRecreated, flight.Stopped:
		p.Blame(why)
	case flight.Deadline, flight.GivenUp, flight.Impossible:
		if r.Unknown.Len() > 0 {
			p.Blame(why)
		} else if p.sealed.len() > 0 {
			p.sealed.first().lastErr = p.reason(why)
		}
	}
	p.resolve(r)
}

// Blame notes a reason with everything that was sent, by whomever. What stops a
// partition is the reason of all there is.
func (p *partition) Blame(why flight.Cause) {
	err := p.reason(why)
	for _, b := range p.sealed.all() {
		if b.Attempts > 0 || p.shared || why == flight.Stopped {
			b.lastErr = because(err, b.lastErr)
		}
	}
}

// Records is the number of records in the oldest batch.
func (p *partition) Records() int32 { return int32(p.sealed.first().Records()) }

// Cut puts two batches in the place of the oldest.
func (p *partition) Cut(left int32) {
	p.own.Memory.Resolved(p.History(0))
	a, b := p.sealed.first().splitAt(int(left))
	for _, part := range []*batch{a, b} {
		p.own.Memory.Note(&part.History, part.oldest, part.MaxTimestamp(), time.Now())
	}
	p.sealed.replace(append([]*batch{a, b}, p.sealed.all()[1:]...))
}

// Oldest is when the oldest batch was made.
func (p *partition) Oldest() (created time.Time, ok bool) {
	if b := p.head(); b != nil {
		return b.created, true
	}
	return time.Time{}, false
}

// Moving reports whether the connection is not the leader's.
func (p *partition) Moving() bool { return p.link != nil && p.link.broker != p.target }

// Unbind leaves the connection.
func (p *partition) Unbind() {
	p.link = nil
	p.fx.enqueue = p.target
}

// Stop notes why no more is sent, ever. A lane cannot go on without a guess: its
// other partitions hear of it once the lock is free.
func (p *partition) Stop(why flight.Cause) {
	err := p.reason(why)
	if !p.shared {
		p.halt(err)
		return
	}
	l := p.topic.lane
	l.broke(fmt.Errorf("%q partition %d: %w", p.topic.name, p.index, err))
	p.halt(l.Err())
	p.fx.failed = true
}

// halt has the partition give up everything as soon as nothing is outstanding.
func (p *partition) halt(why error) {
	if p.fatal == nil {
		p.fatal = why
	}
	cause := flight.LaneFailed
	if errors.Is(p.fatal, ErrSecondOwner) {
		cause = flight.SecondOwner
	}
	p.own.Stop(cause)
}

// Close seals the open batch.
func (p *partition) Close() {
	if p.open != nil {
		p.shutBatch()
	}
}

// Encoding reports whether batches are with the encoders.
func (p *partition) Encoding() bool { return p.encoding > 0 }

// Leader is who answers on the connection, as far as we know: metadata is behind.
func (p *partition) Leader() flight.Leader {
	if p.link == nil {
		return flight.NoLeader
	}
	return flight.Leader{Broker: p.link.broker.id, Epoch: p.leaderEpoch}
}

// Sharing is what is known of others with the producer ID.
func (p *partition) Sharing() flight.Sharing { return p.topic.lane.sharing() }

// Jitter spreads pauses.
func (p *partition) Jitter() float64 { return rand.Float64() }

// reason is the error of a cause, nil for what is no fault.
func (p *partition) reason(why flight.Cause) error {
	switch why {
	case flight.StateLost:
		return because(ErrStateLost, p.detail)
	case flight.DataLoss:
		return because(ErrDataLoss, p.detail)
	case flight.SecondOwner:
		return ErrSecondOwner
	case flight.CannotAsk:
		return ErrCannotAsk
	case flight.TopicRecreated:
		return ErrTopicRecreated
	case flight.Deadline:
		return because(ErrDeliveryTimeout, p.lastError())
	case flight.GivenUp, flight.Refused:
		return p.sealed.first().lastErr
	case flight.ConnectionLost, flight.Impossible:
		return p.detail
	case flight.Stopped:
		return p.fatal
	}
	return nil
}

// carry turns what the owner wants done elsewhere into effects.
func (p *partition) carry(e flight.Effects) {
	p.fx.refresh = p.fx.refresh || e.Refresh
	p.fx.fenced = p.fx.fenced || e.Fenced
	p.fx.loss = p.fx.loss || e.Loss
	if e.Read.Kind != flight.NoRead {
		p.fx.audit = p.newAudit(e.Read)
	}
}

// carryOn makes the window of a lane begin at a position.
func (p *partition) carryOn(at flight.Position, id *identity) {
	p.ident = id
	p.own.CarryOn(id.producerID, at)
}

// offers reports whether the broker answers questions, and the topic allows it.
// Rights may be given later: a topic that refused is asked about again once metadata
// would be too old, too.
func (p *partition) offers(l *link, now time.Time) bool {
	return l.describes && flight.Age(p.topic.closedToUs.Load(), now) >= p.pr.cfg.MetadataMaxAge
}
