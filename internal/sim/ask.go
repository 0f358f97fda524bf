package sim

import (
	"fmt"

	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// offers says whether the broker answers questions, and the topic allows it.
func (s *sim) offers(i int) bool {
	p := &s.parts[i]
	return p.link >= 0 && has(uint8(s.opt.Asks), s.links[p.link].broker) && !p.closed
}

// forgetUnderDoubt has all brokers forget the producer now, if the client is about to
// ask; not in an epoch without a success, for then nobody can tell a broker that
// forgot from one that never heard of it.
func (s *sim) forgetUnderDoubt(i int) {
	p := &s.parts[i]
	if l := &s.logs[i]; l.armed && p.own.Wants() && p.win.Outstanding() == 0 && p.win.InDoubt() && p.succeeded() && !s.calm {
		l.armed = false
		s.forgetEverywhere(i)
		s.effectAt(eForgotUnderDoubt, i)
	}
}

// ask writes the question of these partitions.
func (s *sim) ask(li int, parts []int) {
	rq := s.newRequest(li)
	rq.question = true
	for _, i := range parts {
		p := &s.parts[i]
		s.effectAt(eAsked, i)
		rq.p[rq.n] = piece{part: i, topic: p.topic, pid: int32(p.win.State().ProducerID), batch: p.question, offset: -1}
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
	here := p.link >= 0 && s.links[p.link].conn == id
	w := flight.Word{
		Answered: m.code == retry.None, Closed: m.code == retry.TopicAuthorizationFailed || m.code == 999,
		Known: m.known, Epoch: int32(m.epoch), Last: m.last,
	}
	if s.trace != nil {
		s.trace(fmt.Sprintf("      partition %d hears: %+v", i, w))
	}
	x := s.expect(i, m)
	if s.unheard(i, !w.Answered && !w.Closed); w.Answered {
		p.lost = 0
	}
	s.noteDue(i)
	var fx flight.Effects
	if !p.own.Heard(m.batch, here, w, s.offers(i), at(s.now), &fx) {
		return
	}
	p.closed = p.closed || w.Closed
	if w.Answered {
		s.judgeFinding(i, m, x, fx)
		s.told(i, x.state, fx)
	}
	s.carry(i, fx)
	s.settleDown(i)
	s.look(i)
}

// unheard notes a question that brought nothing. After three in a row the client
// goes on without; what brokers have forgotten by then, nobody survives.
func (s *sim) unheard(i int, lost bool) {
	p := &s.parts[i]
	if !lost {
		return
	}
	p.lost++
	if p.lost >= 3 && s.opt.Legacy == 0 && s.opt.every[fForget] > 0 && s.logs[i].expired > 0 && p.win.InDoubt() {
		s.over, s.hopeless = true, true
	}
}

// told counts what came of a question.
func (s *sim) told(i int, st state, fx flight.Effects) {
	switch {
	case fx.Loss:
		s.effectIn(eLossTold, st)
		s.parts[i].gold.alarms++
	case fx.Found == throttle.FoundOther:
		s.effectIn(eOtherTold, st)
	case fx.Read.Kind != flight.NoRead:
		s.effectIn(eGoneTold, st)
	case fx.Found == throttle.FoundPlace:
		s.effectIn(ePlaceTold, st)
	default:
		s.effectIn(eNothingTold, st)
	}
}

// carry does what the owner of a partition wants done elsewhere.
func (s *sim) carry(i int, fx flight.Effects) {
	p := &s.parts[i]
	if fx.Gone {
		s.effectAtIf(!p.watch.unsettled, eForgottenIdle, i)
		p.watch.dated = false
		p.watch.gated(p.win.Outstanding() > 0)
	}
	if fx.Refresh {
		s.refresh()
	}
	if fx.Read.Kind != flight.NoRead {
		s.startRead(i, fx.Read)
	}
}

// startRead has the log read from behind the last success on.
func (s *sim) startRead(i int, r flight.Reading) {
	p := &s.parts[i]
	p.reading, p.findings = r, flight.Findings{Batches: p.findings.Batches[:0]}
	s.add(3*s.opt.Latency+s.upTo(dAudit, i, 100*millis), evRead, i, int(r.Number))
}

// readLog gives what a consumer may read: no more than is replicated.
func (s *sim) readLog(i int, number int32) {
	p := &s.parts[i]
	if p.reading.Number != uint64(number) {
		return
	}
	s.add(s.opt.Latency, evReadDone, i, int(number))
	b := p.target
	if b < 0 || !s.brokers[b].works() || !s.logs[i].rep[b].leads {
		p.findings.Result = flight.ReadFailed
		return
	}
	r := &s.logs[i].rep[b]
	end := r.hw
	if s.v.readsPastTheMark {
		end = len(r.log)
	}
	for n := range r.log[:end] {
		e := &r.log[n]
		if e.offset >= p.reading.From && (int64(e.pid) == p.reading.ProducerID || s.v.readsOthers) {
			p.findings.Batches = append(p.findings.Batches, flight.LogBatch{Epoch: e.epoch, Base: throttle.Sequence(e.base), Offset: e.offset})
		}
	}
}

// audited takes what was seen in the log. What was not stays unknown.
func (s *sim) audited(i int, number int32) {
	p := &s.parts[i]
	s.effectIf(p.findings.Result != flight.ReadAll, eReadFailed)
	var fx flight.Effects
	if !p.own.Read(uint64(number), p.findings, at(s.now), &fx) {
		return
	}
	s.carry(i, fx)
	s.settleDown(i)
	s.look(i)
}
