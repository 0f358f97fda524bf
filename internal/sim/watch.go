package sim

import (
	"fmt"

	"github.com/sluice-kafka/sluice/internal/brokermodel"
	"github.com/sluice-kafka/sluice/throttle"
)

// wire is what a batch was written as.
type wire struct {
	sent  bool
	open  bool // an attempt has an open fate: it may be in the log, or get there
	stray bool // it had one, ever
	pid   int32
	epoch int16
	base  int32
	count int32
	first uint32
}

// watch judges what goes over the wire, by what was written and answered, and
// without a look into the window.
type watch struct {
	healthy  bool   // a success, and no failure since, on this connection
	failed   bool   // a failure, and not everything is answered since
	refused  bool   // the oldest unresolved batch was refused in this replay
	heard    int64  // time of the last success
	hinted   uint64 // number, counted from 1, of the batch that a broker named as its last
	dated    bool   // there was a success in this epoch
	stamp    int64  // of its batch
	cautious bool   // brokers may forget at any moment
	latest   wire   // of the batch that had the last success

	pid       int32 // of the latest first write
	epoch     int16
	started   bool
	expect    int32 // the next sequence
	unsettled bool  // something became Unknown since the last success
}

// gated notes that from here on one batch may be in flight, until a success.
func (k *watch) gated(outstanding bool) {
	k.healthy, k.refused, k.failed, k.hinted = false, false, outstanding, 0
}

// watchWrite judges a batch on its way out.
func (s *sim) watchWrite(i int, b *batch, send throttle.Send) {
	p := &s.parts[i]
	k := &p.watch
	n := wire{sent: true, open: b.wire.open, stray: b.wire.stray, pid: int32(send.ProducerID), epoch: send.Epoch, base: int32(send.Base), count: b.count, first: b.first}
	first := !b.wire.sent || n.pid != b.wire.pid || n.epoch != b.wire.epoch
	alone := p.win.Outstanding() == 0
	if s.trace != nil {
		s.trace(fmt.Sprintf("      partition %d writes %d: id %d epoch %d base %d, %d records from %d, first %v, in doubt %v",
			i, send.Batch, send.ProducerID, send.Epoch, send.Base, b.count, b.first, first, b.wire.open))
	}
	if first && k.started && (n.pid != k.pid || n.epoch != k.epoch) {
		k.gated(!alone) // whatever was said of the epoch before
	}
	switch {
	case s.owed[i] > 0:
		s.violate("I14: written while another connection owes an answer")
	case first && b.wire.open:
		s.violate("I10: a batch in doubt was renumbered")
	case !first && n != b.wire:
		s.violate("I10: a batch was renumbered within its epoch")
	case k.failed && !alone:
		s.violate("I14: sent again before everything was answered")
	case !k.healthy && first && !alone:
		s.violate("I12: a new batch before the first success")
	case !k.healthy && !alone && !k.refused:
		s.violate("I12: pipelined before the first success")
	case !k.healthy && !b.wire.open && !alone:
		s.violate("I12: a batch that is not in doubt in a replay")
	case !k.healthy && alone && !k.refused && b != &p.q[p.head] && send.Batch+1 != k.hinted:
		s.violate("I12: a replay that does not begin with the oldest")
	case k.healthy && first && !alone && s.now-k.heard > s.opt.Expiration/2:
		s.violate("I12: the gate is not armed after a pause")
	case k.cautious && first && !alone:
		s.violate("I12: a new batch in company behind an old timestamp")
	}
	if first {
		s.watchFirst(i, b, n)
	}
	b.wire, k.hinted = n, 0
	k.failed = k.failed && !alone
}

// watchCaution looks for timestamps by which a broker may forget the producer at any
// moment: one batch is to be in flight then.
func (s *sim) watchCaution(i int) {
	p := &s.parts[i]
	k := &p.watch
	on := k.dated && s.isOld(k.stamp)
	for n := p.head; n < len(p.q) && !on; n++ {
		on = p.q[n].early
	}
	s.effectIf(on && !k.cautious, eStale)
	if on && !k.cautious && k.healthy {
		k.gated(p.win.Outstanding() > 0)
	}
	k.cautious = on
}

// isOld says that a timestamp is so old that a broker may forget by it.
func (s *sim) isOld(stamp int64) bool { return s.now-stamp > s.opt.Expiration/2+millis }

// watchFirst judges the first write of a batch in an epoch.
func (s *sim) watchFirst(i int, b *batch, n wire) {
	p := &s.parts[i]
	k := &p.watch
	if n.base < 0 {
		s.violate("I11: a sequence below zero")
	}
	if k.started && n.pid == k.pid && n.epoch == k.epoch {
		if n.base != k.expect {
			s.violate("I11: sequences are not contiguous")
		}
		s.watchDistance(i, b, n)
	} else {
		s.watchEpoch(i, n)
	}
	k.pid, k.epoch, k.started, k.expect = n.pid, n.epoch, true, brokermodel.Add(n.base, b.count)
}

// watchEpoch judges the first write of an epoch.
func (s *sim) watchEpoch(i int, n wire) {
	p := &s.parts[i]
	k := &p.watch
	switch {
	case n.base != 0:
		s.violate("I11: an epoch does not begin at sequence 0")
	case k.started && n.pid == k.pid && n.epoch < k.epoch:
		s.violate("I13: the epoch went back")
	case k.started && n.pid != k.pid && k.unsettled:
		s.violate("I13: a new producer id over something unknown")
	}
	// If the oldest is not in the log, nothing behind it is, nor gets there: it
	// would not fit, and the new epoch fences it.
	if p.q[p.head].wire.open {
		s.violate("I13: a new epoch with a batch in doubt")
	}
	p.absent()
}

// absent notes that the oldest batch is surely not in the log and will not be
// sent again under its number: nothing behind it is there either.
func (p *part) absent() {
	for j := p.head; j < len(p.q); j++ {
		p.q[j].wire.open = false
	}
}

// watchDistance judges a first write by the distance rule (R4): from una, and
// not from what is in flight.
func (s *sim) watchDistance(i int, b *batch, n wire) {
	p := &s.parts[i]
	una := &p.q[p.head]
	if b == una || !una.wire.sent || una.wire.epoch != n.epoch || una.wire.pid != n.pid {
		return
	}
	w := p.window
	if w == 0 {
		w = throttle.DefaultSequences
	}
	last := brokermodel.Add(n.base, b.count-1)
	if (last-una.wire.base)&(1<<31-1) >= w {
		s.violate("I12: beyond the window of sequences")
	}
	if limit := s.opt.CapBatches; limit > 0 {
		sent := 0
		for j := p.head; j < len(p.q) && &p.q[j] != b; j++ {
			sent++
		}
		if sent >= limit {
			s.violate("I12: beyond the cap on batches")
		}
	}
}

// watchAnswer notes the answer to an attempt, before the window hears of it.
func (s *sim) watchAnswer(i int, number uint64, a throttle.Answer) {
	p := &s.parts[i]
	k := &p.watch
	b := p.at0(number)
	if s.trace != nil {
		s.trace(fmt.Sprintf("      partition %d reads %v for %d", i, a, number))
	}
	left := p.win.Outstanding() > 1
	switch a {
	case throttle.Success:
		s.effectIf(k.refused && number > p.base, eProvenInReplay)
		s.effectIf(k.refused && !b.wire.open, eVouched)
		k.refused, k.unsettled, k.heard, k.latest = false, false, s.now, b.wire
		k.dated, k.stamp = true, b.stamp
		k.healthy = !k.failed && !k.cautious
		k.failed = k.failed && left || k.cautious && left
		for j := p.head; j <= p.head+int(number-p.base); j++ {
			p.q[j].wire.open = false
		}
		return
	case throttle.Duplicate, throttle.Uncertain:
		b.wire.open, b.wire.stray = true, true
	default:
	}
	if k.healthy && a == throttle.Duplicate {
		return
	}
	if !k.healthy && (a == throttle.Duplicate || a == throttle.OutOfOrder || a == throttle.Refused) {
		k.refused = k.refused || number == p.base
		return // passed over in a replay
	}
	k.gated(left)
}

// watchLost notes that the connection is gone.
func (s *sim) watchLost(i int) {
	p := &s.parts[i]
	if s.trace != nil {
		s.trace(fmt.Sprintf("      partition %d loses its connection with %d outstanding", i, p.win.Outstanding()))
	}
	c := &s.conns[s.links[p.link].conn]
	for j := c.answered; j < len(c.reqs); j++ {
		if c.reqs[j].question {
			continue
		}
		for k := range c.reqs[j].n {
			if m := &c.reqs[j].p[k]; m.part == i && m.batch >= p.base {
				w := &p.at0(m.batch).wire
				w.open, w.stray = true, true
			}
		}
	}
	p.watch.gated(false)
}
