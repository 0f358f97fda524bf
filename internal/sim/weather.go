package sim

// forecast plans the faults that come by themselves.
func (s *sim) forecast() {
	for d := firstWeather; d < domains; d++ {
		if s.opt.every[d] > 0 {
			s.add(s.gapOf(d), evWeather, int(d), 0)
		}
	}
}

func (s *sim) gapOf(d domain) int64 {
	every := s.opt.every[d]
	return every/2 + s.upTo(dPause, int(d)%entities, every)
}

// weather is the time for a fault of the kind.
func (s *sim) weather(d domain) {
	if s.calm {
		return
	}
	if s.opt.every[d] > 0 {
		s.add(s.gapOf(d), evWeather, int(d), 0)
	}
	h, ok := s.strikes(d, 0)
	if !ok {
		return
	}
	s.strike(d, h)
}

func (s *sim) strike(d domain, h uint64) {
	b := int(h % uint64(s.opt.Brokers))
	p := int((h >> 8) % uint64(s.opt.Partitions))
	long := heavy(h>>16, 3*seconds)
	switch d {
	case fCutRST, fCutFIN, fHoleIn, fHoleOut:
		s.hurtLink(d, int((h>>8)%uint64(len(s.links))))
	case fKill:
		s.kill(b, 20*millis+long)
	case fPause:
		s.pause(b, 10*millis+long)
	case fAllDown:
		s.effect(eAllDown)
		for b := range s.opt.Brokers {
			s.kill(b, 50*millis+long+int64(b)*millis)
		}
	case fPrefer:
		s.effectIf(s.move(p), ePreferred)
	case fShutdown:
		s.shutDown(b, 50*millis+long)
	case fShrink:
		s.shrink(p, b, s.now+long)
	case fSnapshot:
		if has(s.logs[p].on, b) && s.brokers[b].up {
			s.reloadMemory(p, b, true)
		}
	case fRecreate:
		s.recreate(p)
	case fUnclean:
		s.fallBehind(p, b)
	case fForget:
		s.forgetEarly(p)
	case fForeign:
		s.writeForeign(p, 1+int32(h>>16)&63)
	default: // faults of a moment
	}
}

// hurtLink breaks the connection of a link, or stops one of its directions.
func (s *sim) hurtLink(d domain, li int) {
	l := &s.links[li]
	if l.state != linkUp {
		return
	}
	c := &s.conns[l.conn]
	switch d {
	case fHoleIn:
		c.holeIn = true
	case fHoleOut:
		c.holeOut = true
	default:
		e := eCutRST
		if d == fCutFIN {
			e = eCutFIN
		}
		s.effectIf(c.inFlight() > 0, e)
		s.breakConn(l.conn)
	}
}

// shutDown moves the leaders away before the broker stops.
func (s *sim) shutDown(b int, downFor int64) {
	if !s.brokers[b].works() {
		return
	}
	for p := range s.opt.Partitions {
		if s.logs[p].leader == b {
			s.effectIf(s.move(p), eShutdown)
		}
	}
	s.add(5*millis, evKill, b, int(downFor/millis))
}

// recreate deletes the topic and makes it anew, with another id.
func (s *sim) recreate(p int) {
	l, c := &s.logs[p], &s.parts[p]
	l.topic++
	for b := range s.opt.Brokers {
		r := &l.rep[b]
		leads, follows, epoch, fetching, isr := r.leads, r.follows, r.epoch, r.fetching, r.isr
		r.reset()
		r.leads, r.follows, r.epoch, r.fetching, r.isr = leads, follows, epoch, fetching, isr
		for i := range r.remote {
			r.remote[i] = -1
		}
	}
	c.gold.log, c.gold.gone = c.gold.log[:0], c.gold.next
	for id := range s.used {
		conn := &s.conns[id]
		if conn.state != connWaiting || conn.gone {
			continue
		}
		rq := &conn.reqs[conn.served]
		for k := range rq.n {
			if m := &rq.p[k]; m.part == p && m.place > 0 && m.code == 0 {
				m.code = 3
			}
		}
		s.answerConn(id)
	}
	s.kickFollowers(p)
}

// fallBehind takes a follower out of the ISR, to be elected a little later.
func (s *sim) fallBehind(p, b int) {
	s.shrink(p, b, s.now+2*seconds)
	s.add(50*millis+s.upTo(dPause, p, seconds), evUnclean, p, 0)
}

// electUnclean makes a leader of a replica that is behind.
func (s *sim) electUnclean(p int) {
	l := &s.logs[p]
	for b := range s.opt.Brokers {
		if has(l.on, b) && !has(l.isr, b) && s.brokers[b].works() && !s.calm {
			s.unclean = true
			l.isr = 1 << b
			s.elect(p, b)
			return
		}
	}
}

// writeForeign is another producer, of whom nothing more is known.
func (s *sim) writeForeign(p int, count int32) {
	l := &s.logs[p]
	if l.leader < 0 || !s.brokers[l.leader].works() || !l.rep[l.leader].leads {
		return
	}
	r := &l.rep[l.leader]
	r.append(entry{pid: foreign, count: count, leaderEpoch: r.epoch})
	s.advance(p, l.leader)
	s.kickFollowers(p)
}

// expirations is the broker's regular look for producers to forget. It ends with
// the faults: after them nothing has a deadline, and could be in doubt for so
// long that brokers forget it.
func (s *sim) expirations(b int) {
	if s.calm {
		return
	}
	for p := range s.opt.Partitions {
		if s.brokers[b].works() {
			s.forget(p, b)
		}
	}
	s.add(s.opt.Expiration/8, evForget, b, 0)
}

// forget drops the producers that have expired by the broker's clock.
func (s *sim) forget(p, b int) {
	if s.logs[p].rep[b].expire(s.now+s.brokers[b].skew, s.opt.Expiration) {
		s.logs[p].expired++
	}
}

// forgetEarly is what DeleteRecords and fresh replicas do: nobody knows the
// producer any more. It happens only to brokers that say so, and neither while a
// batch with sequence 0 is in doubt nor where sequences come to 0 by wrapping:
// nobody can tell such a batch from the first one of a new producer.
func (s *sim) forgetEarly(p int) {
	c := &s.parts[p]
	if s.opt.Legacy == 0 || s.opt.NearWrap == 1 {
		return
	}
	for k := c.head; k < len(c.q) && c.q[k].wire.sent; k++ {
		if c.q[k].wire.base == 0 {
			return
		}
	}
	s.logs[p].expired++
	for b := range s.opt.Brokers {
		s.logs[p].rep[b].producers = s.logs[p].rep[b].producers[:0]
	}
}
