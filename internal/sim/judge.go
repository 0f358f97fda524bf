package sim

import (
	"fmt"
	"math"
	"slices"

	"github.com/sluice-kafka/sluice/throttle"
)

// outcome is what the client reported of a record.
type outcome uint8

const (
	unresolved outcome = iota
	written
	notWritten
	unknown
)

// cause is why the client gave something up (I21).
type cause uint8

const (
	causeAnswer cause = iota
	causeDeadline
	causeNewLog
	causeForgotten
	causeGivenUp
	causeOther // owner of the producer id
	causeRead  // in the log
)

// gold is the replicated log of a partition, as it was judged.
type gold struct {
	log      []entry
	next     uint32 // behind the last record
	ackedEnd int64  // offset behind the last acknowledged batch
	lostSome bool   // an unclean election lost what was acknowledged
	alarms   int
	gone     uint32 // records before this went to a log that was deleted
}

// judgeReplicated takes what replica b says is replicated into the gold log.
func (s *sim) judgeReplicated(p, b int) {
	g, r := &s.parts[p].gold, &s.logs[p].rep[b]
	if s.unclean && b != s.logs[p].leader {
		return // what a deposed leader confirms now is lost
	}
	if n := min(len(g.log), r.hw); n > 0 && g.log[n-1].leaderEpoch != r.log[n-1].leaderEpoch {
		s.violate("model: two leaders replicated different entries")
		return
	}
	for i := len(g.log); i < r.hw; i++ {
		s.judgeEntry(p, &r.log[i])
		g.log = append(g.log, r.log[i])
	}
}

func (s *sim) judgeEntry(p int, e *entry) {
	c := &s.parts[p]
	switch {
	case !e.ours():
		return
	case c.at[e.first] != 0:
		s.violate("I2: doubled")
	case e.first < c.gold.next:
		s.violate("I3: reordered")
	case c.outcome[e.first] == notWritten:
		s.violate("I4: in the log and reported not written")
	}
	c.at[e.first] = e.offset + 1
	c.gold.next = e.first + uint32(e.units)
}

// judgeElection compares a new leader with the gold log. A clean one has all
// of it.
func (s *sim) judgeElection(p int) {
	l, g := &s.logs[p], &s.parts[p].gold
	keep := common(g.log, l.rep[l.leader].log)
	if keep == len(g.log) {
		return
	}
	if !s.unclean {
		s.violate("model: a clean election lost replicated entries")
		return
	}
	c := &s.parts[p]
	for i := keep; i < len(g.log); i++ {
		e := &g.log[i]
		if !e.ours() {
			continue
		}
		c.at[e.first] = 0
		if c.outcome[e.first] == written {
			g.lostSome = true
			s.effect(eUnclean)
		}
	}
	g.log = g.log[:keep]
	g.next = c.gold.gone
	for i := keep - 1; i >= 0; i-- {
		if e := &g.log[i]; e.ours() {
			g.next = e.first + uint32(e.units)
			break
		}
	}
}

func (s *sim) outcomeOf(m *piece) outcome {
	if m.topic != s.logs[m.part].topic {
		return unresolved
	}
	return s.parts[m.part].outcome[m.first]
}

// resolveFor judges what the window decided, and takes it off the queue.
func (s *sim) resolveFor(i int, r throttle.Resolution, why cause) {
	p := &s.parts[i]
	if s.trace != nil && (r.NotWritten.Len()+r.Unknown.Len()+r.Written.Len() > 0 || r.Stalled) {
		s.trace(fmt.Sprintf("      partition %d resolves %+v, %d", i, r, why))
	}
	if r.Alarm != throttle.NoAlarm {
		s.judgeAlarm(i, r)
	}
	if r.Unknown.Len() > 0 && why == causeAnswer && r.Alarm != throttle.AlarmGap && !s.unclean && !s.aliens {
		s.violate("I21: unknown without a cause")
	}
	offset := r.FirstOffset
	resolved := r.NotWritten.Len() + r.Unknown.Len() + r.Written.Len()
	for n := uint64(0); n < resolved; n++ {
		b := &p.q[p.head]
		switch {
		case r.NotWritten.Has(p.base):
			s.report(i, b, notWritten)
			p.absent()
		case r.Unknown.Has(p.base):
			s.judgeUnknown(b, p.base == r.Unknown.To-1, why, r.Alarm)
			s.report(i, b, unknown)
			p.watch.unsettled = true
		case r.Written.Has(p.base):
			if p.base == r.Written.To-1 {
				s.judgeRegression(p, b, r)
				offset = r.LastOffset
			}
			s.judgeWritten(i, b, offset)
			s.effectIf(offset < 0, eForeign)
			s.report(i, b, written)
			if offset >= 0 {
				offset += int64(b.count)
				p.gold.ackedEnd = offset
			}
		default:
			s.violate("I6: resolved out of turn")
			return
		}
		p.pop()
	}
}

// judgeUnknown demands a reason for not knowing. Where the broker's state cannot
// be relied on, an attempt long ago is one, and one of a later batch (I7).
func (s *sim) judgeUnknown(b *batch, last bool, why cause, a throttle.Alarm) {
	lost := why == causeNewLog || why == causeForgotten || why == causeOther || s.unclean || s.aliens
	if a == throttle.AlarmGap || b.wire.open || lost && (b.wire.stray || !last) {
		return
	}
	s.violate("I7: unknown, and its fate is known")
}

func (p *part) pop() {
	p.own.Memory.Resolved(p.History(0))
	p.head++
	p.base++
	if p.head > 256 && p.head*2 > len(p.q) {
		n := copy(p.q, p.q[p.head:])
		p.q, p.head = p.q[:n], 0
	}
}

// report is the callback of every record of a batch.
func (s *sim) report(i int, b *batch, o outcome) {
	p := &s.parts[i]
	for k := b.first; k < b.first+uint32(b.units); k++ {
		if p.outcome[k] != unresolved {
			s.violate("I6: a second outcome")
		}
		p.outcome[k] = o
	}
	if o == notWritten && p.at[b.first] != 0 {
		s.violate("I4: in the log and reported not written")
	}
	// The answer to an attempt is waited for, and the end of a throttle time.
	if late := s.now - b.created - s.opt.DeliveryTimeout; late > s.opt.RequestTimeout+2*seconds && !s.healed {
		s.violate("I18: resolved too late")
	}
	s.outcomes[o]++
}

// judgeWritten compares an acknowledgement with the replicated log.
func (s *sim) judgeWritten(i int, b *batch, offset int64) {
	p := &s.parts[i]
	switch at := p.at[b.first]; {
	case s.unclean:
		p.gold.lostSome = p.gold.lostSome || at == 0
	case at == 0:
		s.violate("I1: acknowledged and not in the log")
	case offset >= 0 && at != offset+1:
		s.violate("I1: wrong offset")
	}
}

// judgeRegression demands an alarm when offsets go back (I22).
func (s *sim) judgeRegression(p *part, b *batch, r throttle.Resolution) {
	if r.LastOffset >= 0 && r.LastOffset < p.gold.ackedEnd && r.Alarm == throttle.NoAlarm && p.gold.alarms == 0 {
		s.violate("I22: offsets went back without an alarm")
	}
}

// judgeAlarm allows alarms only after an unclean election (I21).
func (s *sim) judgeAlarm(i int, r throttle.Resolution) {
	p := &s.parts[i]
	s.effect(eAlarm)
	p.gold.alarms++
	if !p.gold.lostSome && !s.unclean {
		s.violate("I21: alarm without a cause: " + r.Alarm.String())
	}
}

// judgeHold allows a stop only for a reason (I21).
func (s *sim) judgeHold(i int, h throttle.Hold) {
	if h != throttle.HoldFenced || s.parts[i].own.Stopped() {
		return
	}
	p := &s.parts[i]
	s.renew()
	if p.win.State().Epoch < math.MaxInt16 {
		s.violate("I21: fenced without a cause")
	}
	if !s.exhausted[i] {
		s.exhausted[i] = true
		s.effect(eExhausted)
	}
}

// judgeTimeout demands that a broker had its time (I21).
func (s *sim) judgeTimeout(id int) {
	c := &s.conns[id]
	since := max(s.links[c.link].lastAnswer, s.links[c.link].mutedUntil)
	if s.now-since < s.opt.RequestTimeout {
		s.violate("I21: a broker that answers was given up")
	}
}

// judgeLiveness demands that everything is resolved a while after the faults
// (I19).
func (s *sim) judgeLiveness() {
	for i := range s.opt.Partitions {
		if p := &s.parts[i]; p.size() > 0 {
			s.violate("I19: not resolved in time")
		}
	}
}

// judgeEnd reads every log once nothing happens any more.
func (s *sim) judgeEnd() {
	for i := range s.opt.Partitions {
		l, p := &s.logs[i], &s.parts[i]
		if l.leader < 0 || common(p.gold.log, l.rep[l.leader].log) < len(p.gold.log) {
			s.violate("model: the leader lost replicated entries")
		}
		if slices.Contains(p.outcome, unresolved) {
			s.violate("I6: no outcome")
		}
	}
}
