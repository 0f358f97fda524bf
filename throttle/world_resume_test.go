package throttle

import (
	"fmt"

	"github.com/sluice-kafka/sluice/internal/brokermodel"
)

// A world with a resumed window. Former processes write the same records in any
// batches, whenever they like, to any broker that takes itself for the leader:
// that is what stragglers of their connections do, and what a process does that
// was paused and wakes up.

// resume makes the window of the world a resumed one: what is anchored is what
// the checkpoint tells of.
func (wd *world) resume() {
	anchor := wd.w
	wd.w = *New()
	wd.w.ring = anchor.ring
	wd.w.Resume(0, 0, anchor.next, anchor.lastEnd)
	wd.w.Caution(wd.set.forgets == atAnyTime)
	for _, records := range wd.set.cuts {
		wd.w.Admit(records)
	}
}

// count is the number of records in a batch.
func (wd *world) count(m rec) int32 {
	if m.n > 0 {
		return int32(m.n)
	}
	return wd.set.records
}

// offsetOf is the base offset of a batch in the log of b.
func (wd *world) offsetOf(b int8, index uint8) int64 {
	at := int32(0)
	for _, m := range wd.rep[b].log[:index] {
		at += wd.count(m)
	}
	return int64(at)
}

// contentOf is the number of the first record of batch i.
func (wd *world) contentOf(i uint64) (content uint8) {
	for k := range i {
		content += uint8(wd.w.at(k).records)
	}
	return content
}

func (wd *world) formerSteps(emit yield) {
	total := wd.contentOf(wd.w.end) + 1 // it may have got further
	for b := range wd.set.replicas {
		if !wd.rep[b].leads {
			continue
		}
		for from := range total {
			if !wd.formerMay(b, from) {
				continue
			}
			for to := from + 1; to <= total; to++ {
				m := rec{base: brokermodel.Add(wd.set.base, int32(from)), id: 254, n: to - from, content: from}
				if v, _ := wd.judge(b, m); v == brokermodel.Append {
					wd.try(emit, fmt.Sprintf("former process: %d takes records %d to %d", b, from, to-1), func(n *world) string {
						n.left.former--
						n.rep[b].append(m)
						n.commit()
						return ""
					})
				}
			}
		}
	}
}

// formerMay reports whether an honest process writes this record to broker b
// next. To one that knows nothing of it, it sends what is behind all that it
// knows to be written, alone, and only if nothing more can be there already.
func (wd *world) formerMay(b int8, from uint8) bool {
	p := wd.memory(b, 0)
	if _, known := p.Known(); known {
		return true
	}
	return wd.set.forgets != atAnyTime && from == wd.contents(b, wd.rep[b].n) && from == wd.contents(wd.leader, wd.hw)
}

// contents is the number of records that are in the first n batches of a log.
func (wd *world) contents(b int8, n uint8) (records uint8) {
	for _, m := range wd.rep[b].log[:n] {
		if m.id != 255 {
			records = max(records, m.content+uint8(wd.count(m)))
		}
	}
	return records
}

// readStep reads the log up to the high watermark, if Hear asked for it.
func (wd *world) readStep(emit yield) {
	if !wd.ahead {
		return
	}
	next := wd.clone()
	if broken := next.readLog(); broken != "" || next.w.una != wd.w.una {
		emit("client reads the log", next, broken)
	}
}

func (n *world) readLog() string {
	n.noteAcker()
	n.watch.connected()
	n.asked, n.ahead = false, false
	b := n.cur.broker
	if n.set.proof {
		return n.readUpTo(b)
	}
	for at, m := range n.readable(b) {
		r := n.w.Read(int16(m.epoch), Sequence(m.base), n.count(m), n.offsetOf(b, uint8(at)))
		if broken := n.take(r); broken != "" {
			return broken
		}
	}
	return ""
}

func (n *world) readUpTo(b int8) string {
	log := n.readable(b)
	if len(log) == 0 {
		return ""
	}
	last := log[len(log)-1]
	return n.take(n.w.ReadUpTo(Sequence(brokermodel.Add(last.base, n.count(last)-1))))
}

// takeResumed judges what a resumed window decided.
func (n *world) takeResumed(r Resolution) string {
	if r.NotWritten.Len() > 0 || r.HeadRefused {
		return "I4: reported not written, and a former process may write it"
	}
	if r.Written.Len() == 0 {
		return ""
	}
	for c := n.contentOf(r.Written.From); c < n.contentOf(r.Written.To); c++ {
		if n.placeOf(c) < 0 {
			return "I1: acknowledged and not in the log"
		}
	}
	right := func(i uint64, offset int64) bool {
		return offset < 0 || offset == n.placeOf(n.contentOf(i))
	}
	if !right(r.Written.From, r.FirstOffset) || !right(r.Written.To-1, r.LastOffset) {
		return "I1: wrong offset"
	}
	return ""
}

// placeOf is the offset of a record that is in the log and replicated, or -1.
func (wd *world) placeOf(content uint8) int64 {
	for at, m := range wd.rep[wd.leader].log[:wd.hw] {
		if m.id != 255 && m.content <= content && content < m.content+uint8(wd.count(m)) {
			return wd.offsetOf(wd.leader, uint8(at)) + int64(content-m.content)
		}
	}
	return -1
}

// judgeContent judges what is replicated by its records.
func (n *world) judgeContent() string {
	next := uint8(0)
	for _, m := range n.rep[n.leader].log[:n.hw] {
		switch {
		case m.id == 255:
			continue
		case m.content < next:
			return "I2: doubled"
		case m.content > next:
			return "I3: a gap"
		}
		next += uint8(n.count(m))
	}
	return ""
}
