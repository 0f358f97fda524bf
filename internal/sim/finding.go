package sim

import (
	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/throttle"
)

// expected is what a question should bring, by what was so before the client heard
// the answer.
type expected struct {
	state     state
	epoch     int16
	current   bool
	sameEpoch bool // as the last success
	behind    int32
}

func (s *sim) expect(i int, m *piece) expected {
	p := &s.parts[i]
	st := p.win.State()
	x := expected{state: s.stateOf(i), epoch: st.Epoch, current: p.own.Memory.Current(p.Leader())}
	latest := &p.watch.latest
	x.sameEpoch = m.known && latest.epoch == m.epoch && p.succeeded()
	x.behind = throttle.Sequence(brokerLast(latest)).Distance(throttle.Sequence(m.last))
	p.watch.hinted = 0
	for k := p.head; x.sameEpoch && k < len(p.q) && p.q[k].wire.sent; k++ {
		if w := &p.q[k].wire; w.epoch == latest.epoch && brokerLast(w) == m.last {
			p.watch.hinted = p.base + uint64(k-p.head) + 1
		}
	}
	return x
}

// succeeded says that a batch of the present epoch was acknowledged.
func (p *part) succeeded() bool {
	latest, st := &p.watch.latest, p.win.State()
	return latest.sent && int64(latest.pid) == st.ProducerID && latest.epoch == st.Epoch
}

// judgeFinding demands that what was found is so, and that what is so was found.
func (s *sim) judgeFinding(i int, m *piece, x expected, fx flight.Effects) {
	found := fx.Found
	p, l := &s.parts[i], &s.logs[i]
	switch {
	case found == throttle.FoundOther && l.aliens == 0:
		s.violate("I25: a second owner found that is not there")
	case fx.Loss && !p.gold.lostSome && !s.unclean:
		s.violate("I22: a loss told that was not")
	case found == throttle.FoundGone && (fx.Gone || fx.Read.Kind != flight.NoRead) && l.expired == 0 && !s.unclean && l.topic == p.topic:
		s.violate("I21: state gone without a cause")
	case m.alien && m.epoch >= x.epoch && found != throttle.FoundOther:
		s.violate("I25: a second owner goes untold")
	case s.unclean && x.current && x.sameEpoch && x.behind > 0 && x.behind < throttle.MaxWindow && found != throttle.FoundLoss && !m.alien:
		s.violate("I22: a loss goes untold")
	}
}

// brokerLast is the last sequence of a batch.
func brokerLast(w *wire) int32 { return int32(throttle.Sequence(w.base).Add(w.count - 1)) }
