package sim

import "github.com/sluice-kafka/sluice/internal/brokermodel"

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
		s.effectAtIf(s.move(p), ePreferred, p)
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
	case fSecond:
		s.writeAlien(p, h>>16&1 == 0)
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
		if c.inFlight() > 0 {
			s.effectOn(e, l.conn)
		}
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
			s.effectAtIf(s.move(p), eShutdown, p)
		}
	}
	s.add(5*millis, evKill, b, int(downFor/millis))
}

// recreate deletes the topic and makes it anew, with another id.
func (s *sim) recreate(p int) {
	l, c := &s.logs[p], &s.parts[p]
	s.effectAt(eDeleted, p)
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
			s.effectAt(eUncleanElection, p)
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
	// Its sequences may be the same as ours: that says nothing.
	c := &s.parts[p]
	like := wire{}
	if c.unresolvedSent() {
		like = c.q[c.head+int(s.draw(dPick, p)%uint64(c.size()))].wire
	}
	r.append(entry{pid: foreign, epoch: like.epoch, base: like.base, count: count, leaderEpoch: r.epoch})
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
	r := &s.logs[p].rep[b]
	if s.promised(p, r.promised-1) {
		return
	}
	if r.expire(s.now+s.brokers[b].skew, s.opt.Expiration) {
		s.logs[p].expired++
		s.effectAtIf(s.logs[p].leader == b, eStateExpired, p)
	}
}

// promised says that the client goes by the word that it got on a connection: it
// has just asked there, or replays. What a broker forgets then, nobody survives.
func (s *sim) promised(i, conn int) bool {
	p := &s.parts[i]
	if conn < 0 || !s.conns[conn].live {
		return false
	}
	bound := p.link >= 0 && s.links[p.link].conn == conn
	return bound && (p.own.Waits() || p.own.Assured() || p.win.Outstanding() > 0)
}

// forgetEarly is what DeleteRecords and fresh replicas do: nobody knows the
// producer any more. Brokers that do not say so do it when a client is about to
// ask, see doubtful. Those that do, neither while a batch with sequence 0 is in
// doubt nor where sequences come to 0 by wrapping: nobody can tell such a batch
// from the first one of a new producer.
func (s *sim) forgetEarly(p int) {
	c := &s.parts[p]
	if s.opt.Legacy == 0 {
		s.logs[p].armed = true
		return
	}
	if s.opt.NearWrap == 1 {
		return
	}
	for k := c.head; k < len(c.q) && c.q[k].wire.sent; k++ {
		if c.q[k].wire.base == 0 {
			return
		}
	}
	s.forgetEverywhere(p)
}

func (s *sim) forgetEverywhere(p int) {
	s.logs[p].expired++
	for b := range s.opt.Brokers {
		s.logs[p].rep[b].producers = s.logs[p].rep[b].producers[:0]
	}
}

// alienRecords is the size of the other owner's batch: it is larger than all of
// ours together, so that no broker takes one of ours for it.
const alienRecords = 1 << 20

// writeAlien is another process with our producer id, in our epoch ahead of us,
// or in the next one.
func (s *sim) writeAlien(p int, bump bool) {
	l := &s.logs[p]
	if l.leader < 0 || !s.brokers[l.leader].works() || !l.rep[l.leader].leads {
		return
	}
	r := &l.rep[l.leader]
	k := r.producer(s.parts[p].ident)
	if k == nil {
		return
	}
	epoch, _ := k.state.Known()
	base := brokermodel.Add(k.state.Last(), 1)
	if bump {
		epoch, base = epoch+1, 0
	}
	if epoch <= 0 && bump || base > 1<<30 {
		return
	}
	s.effectAt(eSecondOwner, p)
	s.aliens = true
	l.aliens++
	r.append(entry{pid: k.pid, epoch: epoch, base: base, count: alienRecords, leaderEpoch: r.epoch, alien: true, stamp: s.now})
	s.advance(p, l.leader)
	s.kickFollowers(p)
}
