package sim

import (
	"time"

	"github.com/sluice-kafka/sluice/internal/flight"
)

// link is the client's side of the connections to a broker, one after another.
type link struct {
	broker     int
	state      linkState
	conn       int
	dial       int32 // to tell the end of one dial from that of another
	mutedUntil int64
	lastAnswer int64
	timerAt    int64
	fails      int
	turn       int // which partition is first in the next request
}

type linkState uint8

const (
	linkDown linkState = iota
	linkDialing
	linkUp
)

func duration(ns int64) time.Duration { return time.Duration(ns) }

// at is a virtual time as package flight takes it.
func at(ns int64) time.Time { return time.Unix(0, ns) }

// dial opens a connection, which takes a while, or the request timeout.
func (s *sim) dial(li int) {
	l := &s.links[li]
	l.state = linkDialing
	l.dial++
	pause := int64(0)
	if l.fails > 0 {
		pause = min(20*millis<<min(l.fails, 5), 400*millis)
	}
	s.add(pause+s.netDelay(l.broker), evDial, li, int(l.dial))
}

func (s *sim) dialed(li int, dial int32) {
	l := &s.links[li]
	if l.state != linkDialing || l.dial != dial {
		return
	}
	b := &s.brokers[l.broker]
	if !b.works() {
		l.fails++
		l.state = linkDown
		s.refresh()
		if b.paused {
			l.state = linkDialing
			l.dial++
			s.add(s.opt.RequestTimeout, evDial, li, int(l.dial))
			return
		}
		s.lookAll(li)
		return
	}
	l.state, l.fails, l.mutedUntil, l.lastAnswer = linkUp, 0, 0, s.now
	l.conn = s.newConn(li)
	s.pump(li)
}

// lookAll lets every partition of the link see that something changed.
func (s *sim) lookAll(li int) {
	for i := range s.opt.Partitions {
		if p := &s.parts[i]; p.target == s.links[li].broker && s.linkFor(i) == li && p.size() > 0 {
			s.look(i)
		}
	}
}

// linkLost tells the partitions what has no answer any more.
func (s *sim) linkLost(li int) {
	l := &s.links[li]
	l.state = linkDown
	for i := range s.opt.Partitions {
		p := &s.parts[i]
		s.owed[i] = 0
		if p.link != li {
			continue
		}
		if s.v.losing != nil {
			s.v.losing(s, i)
		}
		s.watchLost(i)
		s.unheard(i, p.own.Waits() && !p.own.Reads())
		s.noteDue(i)
		var fx flight.Effects
		p.own.Lost(at(s.now), &fx)
		if s.v.onLost != nil {
			s.v.onLost(p.win)
		}
		if d := p.inDoubt(); d > 30 {
			s.effect(eDeepDoubt)
		}
		s.notePhase(i)
		s.carry(i, fx)
		s.forgetUnderDoubt(i)
		s.settleDown(i)
	}
	s.refresh()
	for i := range s.opt.Partitions {
		s.look(i)
	}
}

// answer takes the next response of a connection.
func (s *sim) answer(id int) {
	c := &s.conns[id]
	if !c.live || c.holeOut {
		return
	}
	rq := &c.reqs[c.answered]
	c.answered++
	l := &s.links[c.link]
	l.lastAnswer = s.now
	if rq.throttle > 0 {
		s.effectOn(eThrottled, id)
		l.mutedUntil = max(l.mutedUntil, s.now+rq.throttle)
	}
	taken := *rq // the pump below may write into the place of this one
	if c.answered == len(c.reqs) {
		c.reqs, c.answered, c.served, c.arrived = c.reqs[:0], 0, 0, 0
	}
	for i := range taken.n {
		m := &taken.p[i]
		if taken.question {
			s.heard(id, m)
			continue
		}
		if s.owed[m.part] > 0 && s.parts[m.part].link != c.link {
			s.owed[m.part]--
			continue
		}
		s.settle(m, m.omit)
		if s.v.answersTwice && i > 0 {
			s.settle(m, m.omit)
		}
	}
	if l.state == linkUp && l.conn == id {
		s.pump(c.link)
	}
}

// watchLink starts the time that a broker has for its next answer. It runs from
// the previous one, for a broker serves one request at a time.
func (s *sim) watchLink(li int) {
	l := &s.links[li]
	at := s.linkDue(li)
	if l.mutedUntil > s.now {
		at = min(at, l.mutedUntil)
	}
	if at < never && (l.timerAt <= s.now || at < l.timerAt) {
		l.timerAt = max(at, s.now+1)
		s.addAt(l.timerAt, evLink, li, 0)
	}
}

func (s *sim) linkDue(li int) int64 {
	l := &s.links[li]
	if l.state != linkUp || s.conns[l.conn].inFlight() == 0 {
		return never
	}
	c := &s.conns[l.conn]
	since := max(l.lastAnswer, l.mutedUntil)
	if s.v.timesFromWrite {
		since = c.reqs[c.answered].sent
	}
	return since + s.opt.RequestTimeout
}

func (s *sim) linkTimer(li int) {
	l := &s.links[li]
	if l.timerAt == s.now {
		l.timerAt = 0
	}
	if s.now < s.linkDue(li) {
		s.pump(li)
		return
	}
	if l.state == linkUp {
		s.effectOn(eClientTimeout, l.conn)
		if s.conns[l.conn].holeIn {
			s.effectOn(eHoleIn, l.conn)
		}
		if s.conns[l.conn].holeOut {
			s.effectOn(eHoleOut, l.conn)
		}
		s.judgeTimeout(l.conn)
		s.leave(l.conn)
		s.linkLost(li)
	}
}
