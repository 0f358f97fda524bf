package sim

import "github.com/sluice-kafka/sluice/internal/flight"

// note looks at the timestamps of a batch.
func (s *sim) note(p *part, b *batch) {
	p.memory.Note(&b.History, b.stamp/millis, b.stamp/millis, at(s.now))
}

// leader is who answers on the connection, as far as the client knows.
func (s *sim) leader(p *part) flight.Leader {
	return flight.Leader{Broker: int32(s.links[p.link].broker), Epoch: p.leaderEpoch}
}

func (s *sim) forgotten(i int) {
	p := &s.parts[i]
	s.effectAt(eForgottenIdle, i)
	p.win.StateMayBeGone()
	p.watch.gated(p.win.Outstanding() > 0)
	p.watch.dated = false
	p.memory.Forget()
}

// fresh arms the gate where brokers may have forgotten the producer (KIP-854),
// and asks before it sends, or else gives up what is in doubt for so long, or
// with such timestamps, that a replay could be taken for new. It reports whether
// sending, or asking, may go on.
func (s *sim) fresh(i int) bool {
	p := &s.parts[i]
	if s.remembered(i) || p.inquiry.assured {
		return true
	}
	if !s.regate(i) {
		return false
	}
	if s.mayAsk(i) {
		p.inquiry.wanted = true
		return true
	}
	s.stateGone(i)
	return p.size() > 0
}

// remembered says that the broker surely has not forgotten us yet.
func (s *sim) remembered(i int) bool {
	p := &s.parts[i]
	holds, cautious := p.memory.Holds(p, p.win.InDoubt(), flight.Sharing{}, at(s.now))
	p.win.Caution(cautious)
	s.watchCaution(i)
	return holds
}
