package sim

import "github.com/sluice-kafka/sluice/throttle"

// judgeFinding demands that what was found is so, and that what is so was found.
func (s *sim) judgeFinding(i int, m *piece, r throttle.Report, found throttle.Finding) {
	p, l := &s.parts[i], &s.logs[i]
	latest := &p.watch.latest
	sameEpoch := r.Known && latest.sent && int32(latest.epoch) == r.Epoch && int64(latest.pid) == p.win.State().ProducerID &&
		latest.epoch == p.win.State().Epoch
	behind := throttle.Sequence(brokerLast(latest)).Distance(throttle.Sequence(r.Last))
	switch {
	case found == throttle.FoundOther && l.aliens == 0:
		s.violate("I25: a second owner found that is not there")
	case found == throttle.FoundLoss && !p.gold.lostSome && !s.unclean && !p.mistaken():
		s.violate("I22: a loss told that was not")
	case found == throttle.FoundGone && l.expired == 0 && !s.unclean && l.topic == p.topic && !p.mistaken():
		s.violate("I21: state gone without a cause")
	case m.alien && r.Epoch >= int32(p.win.State().Epoch) && found != throttle.FoundOther:
		s.violate("I25: a second owner goes untold")
	case s.unclean && r.Current && sameEpoch && behind > 0 && behind < throttle.MaxWindow && found != throttle.FoundLoss && !m.alien:
		s.violate("I22: a loss goes untold")
	}
	p.watch.hinted = 0
	if !sameEpoch {
		return
	}
	for k := p.head; k < len(p.q) && p.q[k].wire.sent; k++ {
		if w := &p.q[k].wire; w.epoch == latest.epoch && brokerLast(w) == r.Last {
			p.watch.hinted = p.base + uint64(k-p.head) + 1
		}
	}
}

// mistaken says that metadata was behind when the last success came: its leader
// epoch was older than the true one, and another broker of an epoch in between
// passes for current. Only the brokers know, and a success does not say.
func (p *part) mistaken() bool { return p.watch.believed < p.watch.led }

// brokerLast is the last sequence of a batch.
func brokerLast(w *wire) int32 { return int32(throttle.Sequence(w.base).Add(w.count - 1)) }
