package throttle

import "fmt"

// asking is what a client of a world does with DescribeProducers.
type asking uint8

const (
	neverAsks  asking = iota
	mayAsk            // at any moment, or not
	alwaysAsks        // before it goes on from the gate with something in doubt
	// askedOfALiar is alwaysAsks of brokers that always name the last batch
	// that is in doubt.
	askedOfALiar
)

// canHear is when a report means something to a Window.
func (wd *world) canHear() bool {
	return wd.set.asks != neverAsks && wd.cur.live && wd.w.phase == gate && wd.w.outstanding == 0 && !wd.asked
}

// mustAsk holds a write back until the broker was asked.
func (wd *world) mustAsk() bool {
	return wd.set.asks > mayAsk && wd.canHear() && wd.w.InDoubt()
}

func (wd *world) hearSteps(emit yield) {
	if wd.canHear() {
		wd.try(emit, fmt.Sprint("client asks ", wd.cur.broker), (*world).hear)
	}
	if !wd.set.reads || !wd.cur.live || wd.w.outstanding > 0 || wd.w.phase != gate {
		return
	}
	if wd.set.cuts != nil {
		wd.readStep(emit)
		return
	}
	for at, m := range wd.readable(wd.cur.broker) {
		if i, ok := wd.find(m); ok {
			wd.try(emit, fmt.Sprint("client reads the log up to ", i), func(n *world) string {
				return n.seen(i, at)
			})
		}
	}
}

// find is the batch of the window that was read in a log.
func (wd *world) find(m rec) (i uint64, ok bool) {
	if int64(m.pid) != wd.w.producerID {
		return 0, false
	}
	return wd.w.Find(int16(wd.wide(m.epoch)), Sequence(m.base))
}

// wide is an epoch of the model's narrow ones as it is on the wire.
func (wd *world) wide(epoch int8) int32 {
	return int32(wd.w.epoch) + int32(epoch-int8(wd.w.epoch&0xff))
}

// readable is what a consumer may read of replica b: a leader gives no more than
// is replicated, a follower nothing, and a zombie what was replicated when it
// still led, which is left out.
func (wd *world) readable(b int8) []rec {
	switch {
	case b != wd.leader:
		return nil
	case wd.set.variant.readsAll:
		return wd.rep[b].log[:wd.rep[b].n]
	}
	return wd.rep[b].log[:wd.hw]
}

// seen tells the window that batch i was read at this place of the log.
func (n *world) seen(i uint64, at int) string {
	n.noteAcker()
	n.watch.seen(uint8(i))
	return n.take(n.w.Seen(i, int64(at)*int64(n.set.records)))
}

// report is what the broker of the connection says.
func (wd *world) report() Report {
	w := &wd.w
	p := wd.memory(wd.cur.broker, int8(w.producerID))
	epoch, ok := p.Known()
	r := Report{Known: ok, Epoch: wd.wide(int8(epoch)), Last: p.Last(), Current: wd.cur.epoch >= wd.acker}
	if wd.set.cuts != nil {
		r.Remembers = wd.remembers() || wd.set.variant.alwaysRemembers
	}
	if wd.set.asks == askedOfALiar && w.InDoubt() {
		m := w.at(w.doubtEnd() - 1)
		r = Report{Known: true, Epoch: int32(w.epoch), Last: int32(m.base.Add(m.records - 1)), Current: true}
	}
	return r
}

// hear takes what the broker says, and judges what the Window makes of it.
func (n *world) hear() string {
	n.asked = true
	r := n.report()
	if n.set.cuts == nil {
		n.watch.hinted = n.watch.named(r, n.set.records)
	}
	switch f := n.set.variant.hear(&n.w, r); f {
	case FoundLoss, FoundOther:
		return "I15: found what is not so: " + f.String()
	case FoundAhead:
		n.ahead = true
	case FoundInside:
		if left := n.w.Inside(Sequence(r.Last)); !n.set.variant.neverRecuts {
			n.w.Recut(left)
		}
	case FoundGone:
		if !n.mayBeGone() {
			return "I15: found what is not so: gone"
		}
		return n.leaveEpoch()
	case FoundNothing:
		// Who knows nothing, and would not remember, does not lead.
		n.asked = n.set.cuts == nil || r.Known || r.Remembers
	}
	return ""
}

// leaveEpoch is for state that is gone: what can be read is written, what is
// still in doubt then is given up, and nothing is sent again.
func (n *world) leaveEpoch() string {
	if n.set.cuts != nil {
		return n.take(n.w.Disown())
	}
	n.watch.connected()
	log := n.readable(n.cur.broker)
	for at := len(log) - 1; at >= 0; at-- {
		if i, ok := n.find(log[at]); ok && n.set.reads {
			if broken := n.seen(i, at); broken != "" {
				return broken
			}
			break
		}
	}
	if n.w.InDoubt() {
		return n.take(n.w.Disown())
	}
	n.w.StateMayBeGone()
	return ""
}

// noteAcker notes in which leader epoch the broker led that just gave a success,
// or let its log be read.
func (n *world) noteAcker() {
	n.acker = n.rep[n.cur.broker].led
	if n.set.variant.believes && n.cur.epoch >= 0 {
		n.acker = n.cur.epoch
	}
}

// named is the batch at which a report lets a replay begin, 0 for none, as seen
// on the wire.
func (k *watch) named(r Report, records int32) uint8 {
	for i := range k.number {
		b := k.number[i]
		if k.sent[i] && r.Known && int8(r.Epoch&0xff) == b.epoch && r.Last == int32(Sequence(b.base).Add(records-1)) {
			return uint8(i)
		}
	}
	return 0
}
