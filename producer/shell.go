package producer

import (
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
	if err := p.reason(why); err != nil {
		p.blame(err)
	}
	p.resolve(r, p.fx)
}

// Recut puts two batches in the place of the oldest.
func (p *partition) Recut(left int32) { p.replaceHead(p.sealed.first().splitAt(int(left))) }

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
	}
	return nil
}

// carry turns what the owner wants done elsewhere into effects.
func (p *partition) carry(e flight.Effects, fx *effects) {
	fx.refresh = fx.refresh || e.Refresh
	fx.fenced = fx.fenced || e.Fenced
	fx.loss = fx.loss || e.Loss
	p.pending.rest = p.pending.rest || e.Rest
	if e.Read.Kind != flight.NoRead {
		fx.audit = p.newAudit(e.Read)
	}
	switch {
	case e.Stop == flight.NoCause:
	case p.shared:
		p.stopFor(p.reason(e.Stop), fx)
	case p.fatal == nil:
		p.fatal = p.reason(e.Stop)
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
