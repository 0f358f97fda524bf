package sim

import (
	"time"

	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/throttle"
)

// What follows is flight.Shell: what the owner of the partition has done with the
// batches.

// Sealed is the number of batches without an outcome.
func (p *part) Sealed() int { return p.size() }

// History returns what is remembered of one of them.
func (p *part) History(i int) *flight.History { return &p.q[p.head+i].History }

// Resolve takes resolved batches off the queue.
func (p *part) Resolve(r throttle.Resolution, why flight.Cause) {
	s, i := p.sim, p.index
	switch why {
	case flight.Answered, flight.Refused:
		s.notePhase(i)
		s.resolveFor(i, r, causeAnswer)
	case flight.Seen:
		s.effectAt(eSeen, i)
		s.give(i, causeRead, r)
	case flight.TopicRecreated:
		s.effectIf(r.Unknown.Len() > 0, eRecreated)
		p.topic, p.gold.ackedEnd = p.topicSeen, 0
		s.give(i, causeNewLog, r)
	case flight.Stopped:
		s.give(i, causeOther, r)
	case flight.GivenUp:
		s.give(i, causeGivenUp, r)
	case flight.Deadline:
		s.effectIn(eExpired, p.dueIn)
		if r.Unknown.Len() > 0 {
			s.effectIn(eExpiredInDoubt, p.dueIn)
		}
		s.give(i, causeDeadline, r)
	default:
		s.effectAt(eForgottenInDoubt, i)
		s.give(i, causeForgotten, r)
	}
}

// Blame notes why with everything that was sent: nobody reads it here.
func (p *part) Blame(flight.Cause) {}

// Records is the number of records in the oldest batch. The one that leads up to
// the wrap cannot be cut.
func (p *part) Records() int32 {
	if b := &p.q[p.head]; b.count == int32(b.units) {
		return b.count
	}
	return 1
}

// Cut puts two batches in the place of the oldest.
func (p *part) Cut(n int32) {
	p.sim.effect(eSplit)
	b := &p.q[p.head]
	p.own.Memory.Resolved(&b.History)
	left := *b
	left.History = b.Part()
	left.units, left.count = uint16(n), n
	right := left
	right.units, right.count = b.units-left.units, b.count-left.count
	right.first += uint32(left.units)
	p.q = append(p.q, batch{})
	copy(p.q[p.head+2:], p.q[p.head+1:])
	p.q[p.head], p.q[p.head+1] = left, right
	for k := p.head; k < p.head+2; k++ {
		p.own.Memory.Note(&p.q[k].History, p.q[k].stamp/millis, p.q[k].stamp/millis, at(p.sim.now))
	}
	p.absent()
}

// Oldest is when the oldest batch was made.
func (p *part) Oldest() (created time.Time, ok bool) {
	if p.size() == 0 {
		return time.Time{}, false
	}
	return at(p.born(p.head)), true
}

// Moving says that the connection is not the leader's.
func (p *part) Moving() bool { return p.link >= 0 && p.sim.links[p.link].broker != p.target }

// Unbind leaves the connection.
func (p *part) Unbind() { p.link = -1 }

// Stop notes that no more is sent, ever.
func (p *part) Stop(flight.Cause) {}

// Close seals the open batch: here all are.
func (p *part) Close() {}

// Encoding reports whether batches are with the encoders: here none is.
func (p *part) Encoding() bool { return false }

// Leader is who answers on the connection, as far as the client knows.
func (p *part) Leader() flight.Leader {
	if p.link < 0 {
		return flight.NoLeader
	}
	return flight.Leader{Broker: int32(p.sim.links[p.link].broker), Epoch: p.leaderEpoch}
}

// Sharing is what is known of others with the producer ID.
func (p *part) Sharing() flight.Sharing { return flight.Sharing{} }

// Jitter spreads pauses.
func (p *part) Jitter() float64 { return float64(p.sim.draw(dJitter, p.index)>>11) / (1 << 53) }

// fresh asks the owner whether the broker may have forgotten the producer.
func (s *sim) fresh(i int) bool {
	p := &s.parts[i]
	var fx flight.Effects
	goOn := p.own.Fresh(s.offers(i), at(s.now), &fx)
	s.watchCaution(i)
	s.carry(i, fx)
	return goOn && p.size() > 0
}
