package sim

func (s *sim) isOld(stamp int64) bool { return s.now-stamp > s.opt.Expiration/2 }

func (s *sim) forgotten(i int) {
	p := &s.parts[i]
	s.effect(eForgottenIdle)
	p.win.StateMayBeGone()
	p.watch.gated(p.win.Outstanding() > 0)
	p.anchor.set = false
}

// fresh arms the gate where brokers may have forgotten the producer (KIP-854),
// and gives up what is in doubt for so long, or with such timestamps, that a
// replay could be taken for new. It reports whether sending may go on.
func (s *sim) fresh(i int) bool {
	p := &s.parts[i]
	if s.v.caution != nil {
		s.v.caution(s, p)
	} else {
		s.caution(p, p.oldest > 0 && p.oldest >= p.base)
	}
	if !p.anchor.set || s.v.idleBlind {
		return true
	}
	late := s.now-p.anchor.acked > s.opt.Expiration/2
	old := s.isOld(p.anchor.stamp)
	s.effectIf(old, eStale)
	if !late && (!old || p.win.InDoubt()) {
		return true // gated it is already, and a replay must not be stopped
	}
	if p.win.Outstanding() > 0 {
		return s.regate(i)
	}
	s.forgotten(i)
	return true
}

func (s *sim) caution(p *part, on bool) {
	if on == p.cautious {
		return
	}
	p.cautious = on
	p.win.Caution(on)
	if on && p.watch.healthy {
		p.watch.gated(p.win.Outstanding() > 0)
	}
}

// doubtIsOld says whether a batch in doubt has an old timestamp. If it was
// appended, the broker may have forgotten it, and would take it again.
func (s *sim) doubtIsOld(p *part) bool {
	if s.opt.OldStamps == 0 || s.v.stampBlind || !p.win.InDoubt() {
		return false
	}
	for k := p.head; k < len(p.q) && p.q[k].wire.sent; k++ {
		if s.isOld(p.q[k].stamp) {
			return true
		}
	}
	return false
}
