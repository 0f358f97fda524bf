package sim

import (
	"fmt"

	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// askFrom is how many batches in doubt are worth a question.
const askFrom = 8

// inquiry is where a partition is with its question to the broker.
type inquiry struct {
	wanted  bool
	on      int    // connection of the question, counted from 1
	number  uint64 // of the question: an earlier one may still be answered
	reading int    // number of the log read that is under way
	seen    []entry
	failed  bool // the log could not be read
	assured bool // the broker has just said that it knows us
}

func (s *sim) mayAsk(i int) bool {
	p := &s.parts[i]
	return p.link >= 0 && has(uint8(s.opt.Asks), s.links[p.link].broker) && !p.closed
}

// doubtful asks for a look at the broker's state if much is in doubt, or if the
// broker refuses everything.
func (s *sim) doubtful(i int, r throttle.Resolution) {
	p := &s.parts[i]
	// The broker's word holds for the whole of a replay.
	if r.Drained || r.Stalled || r.Written.Len() > 0 || s.v.forgetsTheWord {
		p.inquiry.assured = false
	}
	if !r.Stalled && !(r.Drained && p.win.DoubtLen() >= askFrom) {
		return
	}
	p.inquiry.wanted = true
	if l := &s.logs[i]; l.armed && p.win.Outstanding() == 0 && p.win.DoubtLen() >= askFrom && !s.calm {
		l.armed = false
		s.forgetEverywhere(i)
		s.effectAt(eForgotUnderDoubt, i)
	}
}

// waitsForWord says that nothing may be sent before an answer.
func (s *sim) waitsForWord(i int) bool {
	p := &s.parts[i]
	q := &p.inquiry
	return q.reading > 0 || q.on > 0 && p.link >= 0 && q.on == s.links[p.link].conn+1
}

// asks says whether the question is to be put now.
func (s *sim) asks(i int) bool {
	p := &s.parts[i]
	q := &p.inquiry
	if !q.wanted || p.win.Outstanding() > 0 {
		return false
	}
	q.wanted = false
	if !s.mayAsk(i) {
		return false
	}
	s.questions++
	q.on, q.number = s.links[p.link].conn+1, s.questions
	return true
}

// ask writes the question of these partitions.
func (s *sim) ask(li int, parts []int) {
	rq := s.newRequest(li)
	rq.question = true
	for _, i := range parts {
		p := &s.parts[i]
		s.effectAt(eAsked, i)
		rq.p[rq.n] = piece{part: i, topic: p.topic, pid: int32(p.win.State().ProducerID), batch: p.inquiry.number, offset: -1}
		rq.n++
	}
	s.send(s.links[li].conn)
}

// describe is what a broker says of its state: whatever the replica has, be it
// of a leader or not.
func (s *sim) describe(id int, rq *request) {
	c := &s.conns[id]
	for n := range rq.n {
		m := &rq.p[n]
		l := &s.logs[m.part]
		r := &l.rep[c.broker]
		m.code, m.known, m.last, m.alien = retry.None, false, -1, false
		h, refused := s.strikes(fAskRefused, c.broker)
		switch {
		case has(uint8(s.opt.Closed), m.part):
			m.code = retry.TopicAuthorizationFailed
		case !has(l.on, c.broker):
			m.code = retry.NotLeaderOrFollower
		case refused:
			m.code = [...]retry.Code{retry.NotLeaderOrFollower, retry.UnknownTopicOrPartition, retry.TopicAuthorizationFailed, 999}[h&3]
			s.effectAt(eAskRefused, m.part)
		}
		k := r.producer(m.pid)
		if m.code != retry.None || k == nil {
			continue
		}
		m.epoch, m.known = k.state.Known()
		m.last, m.alien = k.state.Last(), k.alien
		if c.live {
			r.promised = id + 1
		}
		if has(uint8(s.opt.Liars), c.broker) {
			s.lie(m)
		}
		s.effectIf(!r.leads, eToldByFollower)
		s.effectIf(r.leads && r.epoch < l.epoch, eToldByZombie)
	}
}

// lie names the latest batch in doubt, whatever the broker has.
func (s *sim) lie(m *piece) {
	p := &s.parts[m.part]
	if n := p.win.DoubtLen(); n > 1 && m.epoch == p.win.State().Epoch {
		w := &p.q[p.head+n-1].wire
		m.last = int32(throttle.Sequence(w.base).Add(w.count - 1))
	}
}

// heard takes the answer to a question.
func (s *sim) heard(id int, m *piece) {
	i := m.part
	p := &s.parts[i]
	q := &p.inquiry
	if q.on != id+1 || q.number != m.batch && !s.v.takesAnyAnswer {
		return
	}
	q.on = 0
	switch {
	case p.link < 0 || s.links[p.link].conn != id:
	case m.code == retry.None:
		s.hear(i, m)
	case m.code == retry.NotLeaderOrFollower || m.code == retry.UnknownTopicOrPartition:
		q.wanted = true
		s.refresh()
		s.pauseUntil(i)
	default:
		p.closed = true
	}
	s.settleDown(i)
	s.look(i)
}

// hear acts on what the broker knows of our producer id.
func (s *sim) hear(i int, m *piece) {
	p := &s.parts[i]
	if s.trace != nil {
		s.trace(fmt.Sprintf("      partition %d hears: known %v, epoch %d, last %d", i, m.known, m.epoch, m.last))
	}
	r := throttle.Report{Known: m.known, Epoch: int32(m.epoch), Last: m.last, Current: p.memory.Current(s.leader(p))}
	found := s.v.hear(s, i, r)
	if s.trace != nil {
		s.trace(fmt.Sprintf("      partition %d finds %v", i, found))
	}
	s.judgeFinding(i, m, r, found)
	p.inquiry.assured = r.Known && int16(r.Epoch) == p.win.State().Epoch
	switch {
	case found == throttle.FoundLoss:
		s.effectAt(eLossTold, i)
		p.gold.alarms++
		s.stateGone(i)
	case found == throttle.FoundOther:
		s.effectAt(eOtherTold, i)
		p.fatal = true
	case found == throttle.FoundGone && p.win.InDoubt() && p.win.LogEnd() >= 0:
		s.effectAt(eGoneTold, i)
		s.startRead(i)
	case found == throttle.FoundGone, !p.inquiry.assured && !s.remembered(i):
		s.stateGone(i)
	case found == throttle.FoundPlace:
		s.effectAt(ePlaceTold, i)
	default:
		s.effectAt(eNothingTold, i)
	}
}

// stateGone goes on without the state that the broker had of us.
func (s *sim) stateGone(i int) {
	p := &s.parts[i]
	if !p.win.InDoubt() {
		s.forgotten(i)
		return
	}
	p.memory.Forget()
	p.watch.dated = false
	s.effectAt(eForgottenInDoubt, i)
	s.give(i, causeForgotten, p.win.Disown())
}

// startRead has the log read from behind the last success on.
func (s *sim) startRead(i int) {
	s.reads++
	q := &s.parts[i].inquiry
	q.reading, q.seen, q.failed = s.reads, q.seen[:0], false
	s.add(3*s.opt.Latency+s.upTo(dAudit, i, 100*millis), evRead, i, s.reads)
}

// readLog gives what a consumer may read: no more than is replicated.
func (s *sim) readLog(i int, number int32) {
	p := &s.parts[i]
	q := &p.inquiry
	if q.reading != int(number) {
		return
	}
	s.add(s.opt.Latency, evReadDone, i, int(number))
	b := p.target
	if b < 0 || !s.brokers[b].works() || !s.logs[i].rep[b].leads {
		q.failed = true
		return
	}
	r := &s.logs[i].rep[b]
	end := r.hw
	if s.v.readsPastTheMark {
		end = len(r.log)
	}
	for n := 0; n < end; n++ {
		if r.log[n].offset >= p.win.LogEnd() {
			q.seen = append(q.seen, r.log[n])
		}
	}
}

// audited takes what was seen in the log. What was not stays unknown.
func (s *sim) audited(i int, number int32) {
	p := &s.parts[i]
	q := &p.inquiry
	if q.reading != int(number) {
		return
	}
	q.reading = 0
	s.effectIf(q.failed, eReadFailed)
	for n := range q.seen {
		e := &q.seen[n]
		if int64(e.pid) != p.win.State().ProducerID && !s.v.readsOthers {
			continue
		}
		if at, ok := p.win.Find(e.epoch, throttle.Sequence(e.base)); ok {
			s.effectAt(eSeen, i)
			p.watch.gated(false)
			r := p.win.Seen(at, e.offset)
			s.notePhase(i)
			s.resolveFor(i, r, causeRead)
		}
	}
	s.stateGone(i)
	s.settleDown(i)
	s.look(i)
}
