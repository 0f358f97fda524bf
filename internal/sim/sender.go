package sim

import (
	"github.com/sluice-kafka/sluice/throttle"
)

// linkFor is the link that partition i uses to its leader.
func (s *sim) linkFor(i int) int {
	return s.parts[i].target*s.opt.Connections + i%s.opt.Connections
}

// look lets the sender of the partition see whether there is something to do.
func (s *sim) look(i int) {
	p := &s.parts[i]
	s.watchHead(i)
	if p.target < 0 {
		if p.size() > 0 {
			s.refresh()
		}
		return
	}
	s.pump(s.linkFor(i))
}

// watchHead makes sure that the partition is looked at when its oldest batch is
// due.
func (s *sim) watchHead(i int) {
	p := &s.parts[i]
	if p.size() == 0 {
		return
	}
	// Later than that it waits for answers, or for the end of its connection.
	if at := s.deadline(p); at > s.now && at < never {
		s.wakePart(i, at)
	}
}

func (s *sim) wakePart(i int, at int64) {
	p := &s.parts[i]
	at = max(at, s.now+1)
	if p.wakeAt <= s.now || at < p.wakeAt {
		p.wakeAt = at
		s.addAt(at, evPart, i, 0)
	}
}

// partTimer is the time for which the partition wanted to be woken.
func (s *sim) partTimer(i int) {
	p := &s.parts[i]
	if p.wakeAt == s.now {
		p.wakeAt = 0
	}
	// At its deadline a batch is settled first, for one request timeout at most.
	if p.win.Outstanding() > 0 && !s.v.patientAtDeadline && p.own.Overdue(at(s.now)) {
		s.effect(eOverdue)
		li := p.link
		s.leave(s.links[li].conn)
		s.linkLost(li)
	}
	s.settleDown(i)
	s.look(i)
}

// pump writes requests as long as there is something that may be written.
func (s *sim) pump(li int) {
	l := &s.links[li]
	switch {
	case l.state == linkDown:
		s.dial(li)
		return
	case l.state == linkDialing:
		return
	case s.now < l.mutedUntil && !s.v.deafToThrottle:
		s.watchLink(li)
		return
	}
	for s.conns[l.conn].inFlight() < s.opt.Depth && s.writeRequest(li) {
	}
	s.watchLink(li)
}

// writeRequest puts what the partitions of the link have into one request.
func (s *sim) writeRequest(li int) bool {
	l := &s.links[li]
	rq := &s.draft
	rq.n = 0
	asking := s.asked[:0]
	for k := range s.opt.Partitions {
		i := (l.turn + k) % s.opt.Partitions
		if p := &s.parts[i]; p.target != l.broker || s.linkFor(i) != li {
			continue
		}
		switch s.take(i, li, &rq.p[rq.n]) {
		case taken:
			rq.n++
		case question:
			asking = append(asking, i)
		}
	}
	l.turn++
	if len(asking) > 0 {
		s.ask(li, asking)
	}
	if rq.n == 0 {
		return false
	}
	to := s.newRequest(li)
	to.n = rq.n
	copy(to.p[:], rq.p[:rq.n])
	s.send(l.conn)
	return true
}

// newRequest makes room for a request on the connection of the link.
func (s *sim) newRequest(li int) *request {
	l := &s.links[li]
	c := &s.conns[l.conn]
	if s.now < l.mutedUntil {
		s.violate("I20: sent while throttled")
	}
	if len(c.reqs) < cap(c.reqs) {
		c.reqs = c.reqs[:len(c.reqs)+1]
	} else {
		c.reqs = append(c.reqs, request{})
	}
	rq := &c.reqs[len(c.reqs)-1]
	rq.n, rq.throttle, rq.question = 0, 0, false
	if c.inFlight() == 1 {
		l.lastAnswer = s.now
	}
	return rq
}

// next is what a look at a partition finds.
type next uint8

const (
	nothing next = iota
	question
	taken
)

// take gives the batch of partition i that is to be written now, if there is one.
func (s *sim) take(i, li int, m *piece) next {
	p := &s.parts[i]
	s.settleDown(i)
	if p.size() == 0 || p.own.Stopped() || !s.bind(i, li) || p.own.Waits() || !s.fresh(i) {
		return nothing
	}
	if end, on := p.own.Pause.Until(at(s.now)); on {
		if !s.v.losesWakeUp {
			s.wakePart(i, end.UnixNano())
		}
		return nothing
	}
	if number, ok := p.own.Asks(s.offers(i), at(s.now)); ok {
		p.question = number
		return question
	}
	send, hold := s.v.peek(p.win)
	if hold != throttle.Ready {
		s.judgeHold(i, hold)
		return nothing
	}
	b := p.at0(send.Batch)
	if s.v.onWire != nil {
		s.v.onWire(s, i, b, &send)
	}
	s.watchWrite(i, b, send)
	p.win.Commit()
	b.Sent(at(s.now))
	*m = piece{
		part: i, topic: p.topic, pid: int32(send.ProducerID), epoch: send.Epoch, base: int32(send.Base), count: b.count,
		first: b.first, units: b.units, batch: send.Batch, stamp: b.stamp, poison: b.poison, offset: -1,
	}
	return taken
}

// bind ties the partition to the link, and gives its window a producer id.
func (s *sim) bind(i, li int) bool {
	p := &s.parts[i]
	if p.link != li {
		if p.win.Outstanding() > 0 {
			return false
		}
		p.link = li
		p.own.Bound()
		limits := throttle.Limits{Batches: int32(s.opt.CapBatches)}
		b := s.links[li].broker
		p.window = int32(s.opt.Window[b])
		limits.Sequences = p.window
		if p.window == 1000 { // a stock broker names none
			p.window, limits.Sequences = 0, 0
		}
		s.v.bind(p.win, limits)
		s.notePhase(i)
		p.watch.gated(false)
		s.smallerWindow(p, limits.Sequences)
	}
	if p.ident == s.ident {
		if p.win.NeedsProducerID() {
			s.renew()
		}
		return true
	}
	if !p.win.Calm() && p.ident >= 0 {
		return true // a straggler would not be fenced by another id
	}
	if !s.regate(i) {
		return false
	}
	s.takeID(i)
	return true
}

func (s *sim) smallerWindow(p *part, w int32) {
	n := int32(0)
	for k := p.head; w > 0 && k < len(p.q) && p.q[k].wire.open && n <= w; k++ {
		n += p.q[k].count
	}
	s.effectIf(w > 0 && n > w, eSmallerWindow)
}

func (s *sim) takeID(i int) {
	p := &s.parts[i]
	epoch := int16(0)
	if p.ident < 0 {
		epoch = int16(s.opt.Epoch)
	}
	if p.win.SetProducer(int64(s.ident), epoch) {
		s.effectIf(p.ident >= 0, eRenewed)
		p.ident = s.ident
		p.watch.gated(false)
	}
}
