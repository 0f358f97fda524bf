package throttle

import (
	"fmt"

	"github.com/sluice-kafka/sluice/internal/modelcheck"
)

// yield takes one step of the exploration.
type yield func(label string, next world, broken string)

func (set *setting) system() modelcheck.System[world] {
	return modelcheck.System[world]{
		Start: set.start(),
		Key:   func(dst []byte, wd *world) []byte { return wd.key(dst) },
		Steps: func(wd *world, emit func(string, world, string)) { wd.steps(emit) },
		Done:  func(wd *world) bool { return wd.w.una == wd.w.end },
	}
}

// try takes a step on a copy of the world and judges what came of it.
func (wd *world) try(emit yield, label string, step func(n *world) (broken string)) {
	n := wd.clone()
	broken := step(&n)
	if broken == "" {
		broken = n.judgeLog()
	}
	emit(label, n, broken)
}

func (wd *world) steps(emit yield) {
	wd.clientSteps(emit)
	wd.connSteps(emit)
	wd.clusterSteps(emit)
	if wd.left.former > 0 {
		wd.formerSteps(emit)
	}
}

func (wd *world) clientSteps(emit yield) {
	v := &wd.set.variant
	if !wd.cur.live {
		for b := range wd.set.replicas {
			wd.try(emit, fmt.Sprint("client connects to ", b), func(n *world) string {
				n.cur = conn{broker: b, live: true, epoch: n.rep[b].led}
				n.asked, n.ahead = false, false
				n.w.Bind(wd.set.limits[b])
				v.bound(&n.w)
				n.watch.connected()
				return ""
			})
		}
	} else if wd.w.phase == gate && wd.w.outstanding == 0 && wd.cur.broker != wd.leader {
		wd.try(emit, "client leaves for another broker", func(n *world) string {
			n.w.Unbind()
			n.cur = conn{}
			return ""
		})
	}
	wd.hearSteps(emit)
	if led := wd.rep[wd.leader].led; wd.set.learns && wd.cur.live && wd.cur.broker == wd.leader && wd.cur.epoch < led {
		wd.try(emit, fmt.Sprint("client learns of leader epoch ", led), func(n *world) string { return n.learnOf(led) })
	}
	if wd.cur.live && !wd.mustAsk() {
		probe := wd.clone()
		if s, h := v.peek(&probe.w); h == Ready {
			wd.try(emit, fmt.Sprint("client writes ", s.Batch), func(n *world) string {
				v.peek(&n.w)
				return n.write(s)
			})
		}
	}
	if wd.left.expire > 0 && wd.w.outstanding == 0 && wd.w.una < wd.w.end {
		wd.try(emit, "deadline", func(n *world) string {
			n.left.expire--
			return n.take(v.expire(&n.w))
		})
	}
	if v.trustsHint && wd.w.outstanding == 0 {
		for b := range wd.set.replicas {
			wd.try(emit, fmt.Sprint("client believes ", b), func(n *world) string { return n.believe(b) })
		}
	}
}

// learnOf is metadata that names a new leader epoch of the broker.
func (n *world) learnOf(epoch int8) string {
	n.cur.epoch = epoch
	n.asked, n.ahead = false, false
	if !n.set.variant.skipsRegate {
		n.w.Regate()
	}
	return n.gated(n.w.outstanding == 0)
}

// gated tells the watch that only one batch may be in flight from here on.
func (n *world) gated(drained bool) string {
	n.watch.healthy, n.watch.refused, n.watch.failed = false, false, !drained
	n.watch.hinted = 0
	if drained != (n.w.outstanding == 0) {
		return "Regate says that nothing is outstanding"
	}
	return ""
}

func (n *world) write(s Send) string {
	m := rec{pid: int8(s.ProducerID), epoch: int8(s.Epoch), base: int32(s.Base), id: uint8(s.Batch)}
	broken := ""
	if n.set.cuts == nil {
		broken = n.watch.write(n, s, n.w.una, n.w.outstanding)
	} else {
		m.n, m.content = uint8(n.w.at(s.Batch).records), n.contentOf(s.Batch)
	}
	n.w.Commit()
	n.asked, n.ahead = false, false
	c := &n.cur
	c.reqs[c.nreq] = m
	c.nreq++
	if n.set.ignoreWire {
		return ""
	}
	return broken
}

func (wd *world) connSteps(emit yield) {
	c := &wd.cur
	if c.nresp > 0 {
		wd.try(emit, fmt.Sprintf("client reads %v for %d", c.resp[0].answer, c.resp[0].id), (*world).receive)
	}
	if c.live && wd.left.cut > 0 {
		wd.try(emit, "connection breaks", (*world).cut)
	}
	if c.nreq > 0 && c.waiting == 0 {
		wd.serveSteps(emit)
	}
	if c.waiting > 0 {
		if wd.leader == c.broker && wd.hw >= c.waiting {
			wd.try(emit, "broker confirms", func(n *world) string {
				n.reply(&n.cur, Success, int8(n.offsetOf(n.cur.broker, n.cur.waiting-1)))
				return ""
			})
		}
		if wd.left.errorAfter > 0 {
			wd.try(emit, "broker gives up waiting", func(n *world) string {
				n.left.errorAfter--
				n.reply(&n.cur, Uncertain, -1)
				return ""
			})
		}
	}
	for i := range wd.old {
		if wd.old[i].nreq == 0 {
			continue
		}
		wd.try(emit, fmt.Sprint("straggler ", wd.old[i].reqs[0].id), func(n *world) string {
			n.straggle(&n.old[i])
			return ""
		})
		wd.try(emit, "stragglers vanish", func(n *world) string {
			n.old[i] = conn{}
			return ""
		})
	}
}

func (wd *world) serveSteps(emit yield) {
	label := fmt.Sprintf("broker %d takes %d", wd.cur.broker, wd.cur.reqs[0].id)
	wd.try(emit, label, func(n *world) string {
		n.serve(&n.cur)
		return ""
	})
	refuse := func(left int8, a Answer, pay func(*budget)) {
		if left > 0 && wd.rep[wd.cur.broker].leads {
			wd.try(emit, label+", "+a.String(), func(n *world) string {
				pay(&n.left)
				n.reply(&n.cur, a, -1)
				return ""
			})
		}
	}
	refuse(wd.left.refuse, NotAppended, func(b *budget) { b.refuse-- })
	refuse(wd.left.refuseForGood, Refused, func(b *budget) { b.refuseForGood-- })
}

func (n *world) cut() string {
	n.left.cut--
	var open []rec
	open = append(open, n.cur.reqs[:n.cur.nreq]...)
	for _, a := range n.cur.resp[:n.cur.nresp] {
		open = append(open, rec{id: a.id})
	}
	n.abandon()
	if n.set.cuts == nil {
		n.watch.lost(open)
	}
	r := n.w.Lost()
	n.set.variant.lost(&n.w)
	return n.take(r)
}

func (n *world) receive() string {
	c := &n.cur
	a := c.resp[0]
	copy(c.resp[:], c.resp[1:c.nresp])
	c.nresp--
	c.resp[c.nresp] = response{}
	if a.answer == fencedAnswer {
		return "fenced by itself"
	}
	if n.set.cuts == nil {
		n.watch.answered(a.id, a.answer, n.w.una, n.w.outstanding-1)
	}
	if a.answer == Success {
		n.noteAcker()
	}
	return n.take(n.set.variant.settle(&n.w, uint64(a.id), a.answer, int64(a.offset)))
}

func (wd *world) clusterSteps(emit yield) {
	for b := range wd.set.replicas {
		r, l := &wd.rep[b], &wd.rep[wd.leader]
		switch {
		case b == wd.leader:
		case !r.synced:
			wd.try(emit, fmt.Sprint(b, " follows and truncates"), func(n *world) string { n.learn(b); return "" })
		case r.n < l.n:
			wd.try(emit, fmt.Sprint(b, " replicates"), func(n *world) string {
				n.rep[b].append(n.rep[n.leader].log[r.n])
				n.commit()
				return ""
			})
		case wd.alone:
			wd.try(emit, fmt.Sprint(b, " joins the ISR"), func(n *world) string { n.alone = false; return "" })
		}
		if wd.left.elect > 0 && b != wd.leader && !wd.alone {
			wd.try(emit, fmt.Sprint(b, " is elected"), func(n *world) string { n.left.elect--; n.elect(b); return "" })
		}
		if wd.left.reload > 0 && r.n > r.reload {
			wd.try(emit, fmt.Sprint(b, " reloads a snapshot"), func(n *world) string {
				n.left.reload--
				n.rep[b].reload = n.rep[b].n
				return ""
			})
		}
	}
	if wd.left.shrink > 0 && !wd.alone {
		wd.try(emit, "the ISR shrinks", func(n *world) string {
			n.left.shrink--
			n.alone = true
			n.commit()
			return ""
		})
	}
	if wd.left.forget > 0 {
		wd.forgetSteps(emit)
	}
}

// believe takes a replica's last sequence for what is written.
func (n *world) believe(b int8) string {
	for i := n.w.una; i < n.w.max; i++ {
		e := n.w.at(i)
		p := n.memory(b, int8(n.w.producerID))
		if epoch, ok := p.Known(); ok && epoch == n.w.epoch && p.Last() == int32(e.base.Add(n.set.records-1)) {
			var r Resolution
			n.w.confirm(i, -1, &r)
			return n.take(r)
		}
	}
	return ""
}

// take notes what a Window decided, and judges it.
func (n *world) take(r Resolution) string {
	if r.Alarm != NoAlarm {
		return "alarm: " + r.Alarm.String()
	}
	if n.set.cuts != nil {
		return n.takeResumed(r)
	}
	for i := r.NotWritten.From; i < r.NotWritten.To; i++ {
		n.result[i] = notWritten
		n.watch.absent(uint8(i))
	}
	for i := r.Unknown.From; i < r.Unknown.To; i++ {
		n.result[i] = unknown
		n.watch.doubt[i] = false
	}
	if to := r.Unknown.To; r.Unknown.Len() > 0 && to < n.w.end && !n.watch.doubt[to] {
		n.watch.absent(uint8(to))
	}
	at := r.FirstOffset
	for i := r.Written.From; i < r.Written.To; i++ {
		n.result[i] = written
		if i == r.Written.To-1 {
			at = r.LastOffset
		}
		if broken := n.judgeWritten(uint8(i), at); broken != "" {
			return broken
		}
		if at >= 0 {
			at += int64(n.set.records)
		}
	}
	if r.HeadRefused {
		return n.take(n.w.Drop())
	}
	return ""
}

func (n *world) judgeWritten(id uint8, offset int64) string {
	for at, m := range n.rep[n.leader].log[:n.hw] {
		if m.id != id {
			continue
		}
		if offset >= 0 && offset != int64(at)*int64(n.set.records) {
			return "I1: wrong offset"
		}
		return ""
	}
	return "I1: acknowledged and not in the log"
}

// judgeLog judges what is replicated: every batch once, in order, and none of
// those that were reported not written.
func (n *world) judgeLog() string {
	if n.set.cuts != nil {
		return n.judgeContent()
	}
	last := -1
	for _, m := range n.rep[n.leader].log[:n.hw] {
		if m.id == 255 {
			continue
		}
		switch {
		case int(m.id) == last:
			return "I2: doubled"
		case int(m.id) < last:
			return "I3: reordered"
		case n.result[m.id] == notWritten:
			return "I4: in the log and reported not written"
		}
		last = int(m.id)
	}
	return ""
}
