package sim

import (
	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// batch is what the client keeps of a batch until it is resolved.
type batch struct {
	first   uint32 // of its records, in the order of the caller
	units   uint16
	count   int32 // sequences it takes: units, apart from the batch that leads up to the wrap
	stamp   int64
	created int64
	poison  retry.Code // what every broker answers
	wire    wire
	early   bool // by its timestamp a broker may forget the producer
	flight.History
}

// part is the client's side of a partition: the window, and what a shell has to
// do for it.
type part struct {
	sim      *sim
	index    int
	own      flight.Owner     // decides
	win      *throttle.Window // of own
	q        []batch          // q[head:] is in the window
	head     int
	base     uint64 // number of q[head] in the window
	admitted int    // batches so far
	next     uint32 // of the next record

	target      int // broker, -1: none known
	leaderEpoch int32
	older       int // answers in a row with an older leader epoch
	topic       int32
	topicSeen   int32 // what metadata says now
	link        int   // -1: not bound
	window      int32 // sequences, of the connection

	ident    int32 // producer id
	wakeAt   int64
	question uint64 // number of the latest
	lost     int    // questions in a row that brought nothing
	reading  flight.Reading
	findings flight.Findings
	closed   bool // a broker would not answer questions about this topic
	phase    phase
	dueIn    state // see noteDue

	watch   watch
	outcome []outcome // by record
	at      []int64   // by record: offset + 1 in the replicated log
	gold    gold
}

func (p *part) pausing(now int64) bool {
	_, on := p.own.Pause.Until(at(now))
	return on
}

func (p *part) size() int { return len(p.q) - p.head }

func (p *part) at0(i uint64) *batch { return &p.q[p.head+int(i-p.base)] }

func (p *part) unresolvedSent() bool { return p.size() > 0 && p.q[p.head].wire.sent }

func (p *part) inDoubt() int {
	n := 0
	for i := p.head; i < len(p.q) && p.q[i].wire.sent; i++ {
		if p.q[i].wire.open {
			n++
		}
	}
	return n
}

func (s *sim) resetPart(i int) {
	p, o := &s.parts[i], &s.opt
	*p = part{
		sim: s, index: i, q: p.q[:0], outcome: p.outcome[:0], at: p.at[:0], gold: gold{log: p.gold.log[:0]},
		target: -1, leaderEpoch: -1, link: -1, ident: -1, findings: flight.Findings{Batches: p.findings.Batches},
	}
	p.own = flight.NewOwner(p, flight.Options{
		ProducerIDExpiration: duration(o.Expiration), RetryBackoff: duration(20 * millis), RetryBackoffMax: duration(500 * millis),
		ZombieSpan: duration(zombieSpan), DeliveryTimeout: duration(o.DeliveryTimeout), RequestTimeout: duration(o.RequestTimeout),
	})
	p.win = p.own.Window
}

// zombieSpan is longer than a deposed leader goes on here.
const zombieSpan = 6 * seconds

// admit takes a batch from the caller. It is cut at the window of the
// connection, as far as one is known.
func (s *sim) admit(i int) {
	p := &s.parts[i]
	n := 1 + int32(s.upTo(dSize, i, int64(s.opt.BatchRecords)))
	if p.window > 0 {
		n = min(n, p.window)
	}
	b := batch{first: p.next, units: uint16(n), count: n, created: s.now, stamp: s.now}
	if s.opt.NearWrap == 1 && p.admitted == 0 {
		b.units, b.count = 1, 1<<31-1-int32(s.upTo(dSize, i, 60))
	}
	if s.opt.OldStamps > 0 && int(s.upTo(dStamp, i, 100)) < s.opt.OldStamps {
		b.stamp -= s.opt.Expiration/3 + s.upTo(dStamp, i, 2*s.opt.Expiration)
	}
	if h, ok := s.strikes(fPoison, i); ok {
		b.poison = poisons[h%uint64(len(poisons))]
	}
	b.early = s.isOld(b.stamp)
	p.own.Admit(&b.History, b.count, b.stamp/millis, b.stamp/millis, at(s.now))
	p.admitted++
	p.next += uint32(b.units)
	p.q = append(p.q, b)
	for range b.units {
		p.outcome = append(p.outcome, unresolved)
		p.at = append(p.at, 0)
	}
	s.look(i)
}

// settle takes the answer to an attempt.
func (s *sim) settle(m *piece, missing bool) {
	i := m.part
	p := &s.parts[i]
	if s.v.answered != nil {
		s.v.answered(s, m)
	}
	b := p.at0(m.batch)
	s.effectAtIf(missing, eOmitted, i)
	a := flight.Answer{Code: m.code, BaseOffset: m.offset}
	if missing {
		a = flight.Answer{BaseOffset: -1, Missing: true}
	}
	if s.v.answer != nil {
		s.v.answer(&a)
	}
	v := flight.Judge(a, b.Tries)
	s.effectIf(v.Exhausted, eGivenUp)
	if v.Fenced && s.logs[i].aliens == 0 {
		s.violate("I21: fenced by itself")
	}
	s.effectIf(v.Fenced, eFenced)
	s.watchAnswer(i, m.batch, v.Attempt)
	if s.v.before != nil {
		s.v.before(p.win, m.batch, v.Attempt)
	}
	s.noteDue(i)
	var fx flight.Effects
	p.own.Settle(m.batch, &b.History, v, a.BaseOffset, -1, b.stamp/millis, at(s.now), &fx)
	if s.v.after != nil {
		s.v.after(p.win, v.Attempt)
	}
	s.carry(i, fx)
	s.forgetUnderDoubt(i)
	if m.code == retry.NotLeaderOrFollower && m.hint.epoch > p.leaderEpoch && s.draw(dPick, i)&1 == 0 {
		s.effect(eHint)
		s.retarget(i, m.hint)
	}
	s.look(i)
}

// regate stops the partition until nothing is outstanding.
func (s *sim) regate(i int) (drained bool) {
	p := &s.parts[i]
	drained = p.win.Regate()
	s.notePhase(i)
	p.watch.gated(!drained)
	return drained
}

// settleDown does what had to wait until nothing is outstanding.
func (s *sim) settleDown(i int) {
	p := &s.parts[i]
	if s.v.movesUndrained && p.Moving() && p.win.Outstanding() > 0 {
		s.moveUndrained(i)
		return
	}
	s.noteDue(i)
	var fx flight.Effects
	p.own.SettleDown(at(s.now), &fx)
	s.carry(i, fx)
	s.rests(i)
}

// noteDue keeps the state in which a deadline finds the partition.
func (s *sim) noteDue(i int) {
	if p := &s.parts[i]; p.own.Due(at(s.now)) {
		p.dueIn = s.stateOf(i)
	}
}

// rests looks at a partition that may wait until nothing is outstanding.
func (s *sim) rests(i int) {
	p := &s.parts[i]
	s.notePhase(i)
	if !p.own.Resting() {
		return
	}
	p.watch.gated(p.win.Outstanding() > 0)
	if p.own.Due(at(s.now)) && !s.v.patientAtDeadline {
		s.wakePart(i, s.deadline(p)+s.opt.RequestTimeout)
	}
}

func (s *sim) give(i int, why cause, r throttle.Resolution) {
	s.notePhase(i)
	s.parts[i].watch.gated(false)
	s.resolveFor(i, r, why)
}

// deadline is when the oldest batch is too old.
func (s *sim) deadline(p *part) int64 { return p.born(p.head) + s.opt.DeliveryTimeout }

// born is when a batch counts as made. Once the faults are over it may take its
// time, so that nothing that is stuck gets free by itself. Only a batch that was
// lost once and is refused for good has no other end.
func (p *part) born(k int) int64 {
	b := &p.q[k]
	if p.sim.merciless() && b.poison == retry.None {
		return never
	}
	return b.created
}

// moveUndrained is what a variant does: it uses the new leader while the old one
// still owes answers.
func (s *sim) moveUndrained(i int) {
	p := &s.parts[i]
	s.owed[i] += p.win.Outstanding()
	s.watchLost(i)
	p.link = -1
	s.resolveFor(i, p.win.Lost(), causeAnswer)
}
