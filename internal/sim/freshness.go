package sim

func (s *sim) isOld(stamp int64) bool { return s.now-stamp > s.opt.Expiration/2 }

func (s *sim) forgotten(i int) {
	p := &s.parts[i]
	s.effectAt(eForgottenIdle, i)
	p.win.StateMayBeGone()
	p.watch.gated(p.win.Outstanding() > 0)
	p.anchor.set = false
}

// fresh arms the gate where brokers may have forgotten the producer (KIP-854),
// and asks before it sends, or else gives up what is in doubt for so long, or
// with such timestamps, that a replay could be taken for new. It reports whether
// sending, or asking, may go on.
func (s *sim) fresh(i int) bool {
	p := &s.parts[i]
	if s.remembered(p) || p.inquiry.assured {
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
func (s *sim) remembered(p *part) bool {
	if !p.anchor.set && p.oldest <= p.base {
		return true
	}
	recorded := p.oldest > p.base || p.anchor.set && s.isOld(p.anchor.stamp) && !s.v.idleBlind
	if s.v.caution != nil {
		s.v.caution(s, p)
	} else {
		s.effectIf(recorded && !p.cautious, eStale)
		s.caution(p, recorded)
	}
	idle := p.anchor.set && s.now-p.anchor.acked > s.opt.Expiration/2
	return (!idle || s.v.idleBlind) && (!recorded || !p.win.InDoubt() || s.v.stampBlind)
}

func (s *sim) caution(p *part, on bool) {
	p.win.Caution(on)
	if on && !p.cautious && p.watch.healthy {
		p.watch.gated(p.win.Outstanding() > 0)
	}
	p.cautious = on
}
