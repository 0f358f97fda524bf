package sim

import (
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
	s := p.sim
	if why == flight.Seen {
		s.effectAt(eSeen, p.index)
		s.give(p.index, causeRead, r)
		return
	}
	s.effectAt(eForgottenInDoubt, p.index)
	s.give(p.index, causeForgotten, r)
}

// Recut puts two batches in the place of the oldest.
func (p *part) Recut(int32) {}

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
