package throttle

import (
	"fmt"
	"strings"
)

// sea is a world in which more can happen.
type sea struct {
	world
	opt  *options
	left weather
	gone [maxBatches]bool // written to a log that was deleted
	over bool             // Abort was called
	late bool             // deadlines may end what nothing else ends

	splits int8
}

// options is what a walk draws besides a setting.
type options struct {
	// latestIsDuplicate is a broker that answers DUPLICATE even for the
	// latest batch, so that only a new one can vouch for it.
	latestIsDuplicate bool
	// byTopicID: requests for the deleted topic die with it (Produce v13).
	byTopicID bool
	// lastEpochs begins just below the last epoch.
	lastEpochs bool
	// merciless: no deadline ends what would not end by itself.
	merciless bool
	// splits: a batch refused for good is split while there is room.
	splits bool
}

// weather is how often what only a sea has may still happen.
type weather struct {
	admit, regate, caution, expire, newID, newLog, foreign, uncertain, abort int8
}

// splitting is a client that splits what is refused for good, while the arrays
// of the world have room for it. The halves are as long as the whole, for the
// batches of a world are.
func splitting(records int32) func(*Window, uint64, Answer, int64) Resolution {
	return func(w *Window, i uint64, a Answer, offset int64) Resolution {
		r := w.Settle(i, a, offset)
		if r.HeadRefused && w.end < maxBatches {
			r.HeadRefused = false
			w.Split(records, records)
		}
		return r
	}
}

// finished is when everything is resolved and nothing is under way any more
// that could change a log.
func (s *sea) finished() bool {
	if s.w.una != s.w.end || s.left.admit > 0 && !s.over || s.stragglers() || s.cur.nreq > 0 {
		return false
	}
	for b := range s.set.replicas {
		if s.rep[b].n != s.rep[s.leader].n || b != s.leader && !s.rep[b].synced {
			return false
		}
	}
	return true
}

// key encodes what distinguishes two states.
func (s *sea) key(dst []byte) []byte {
	l := s.left
	for _, n := range []int8{l.admit, l.regate, l.caution, l.expire, l.newID, l.newLog, l.foreign, l.uncertain, l.abort} {
		dst = append(dst, uint8(n))
	}
	for _, b := range append(s.gone[:], s.over, s.w.cautious) {
		v := uint8(0)
		if b {
			v = 1
		}
		dst = append(dst, v)
	}
	for i := s.w.una; i < s.w.end; i++ {
		if s.w.at(i).stray {
			dst = append(dst, uint8(i))
		}
	}
	return s.world.key(append(dst, 255))
}

// steps are those of the world and those that only a sea has.
func (s *sea) steps(emit func(string, sea, string)) {
	if !s.over {
		s.callerSteps(emit)
		s.weatherSteps(emit)
	}
	s.world.steps(func(label string, n world, broken string) {
		if s.over && strings.HasPrefix(label, "client") {
			return
		}
		next := *s
		next.world = n
		s.amend(label, &next)
		if broken == "" {
			broken = next.judgeStep(s)
		}
		emit(label, next, broken)
	})
}

// amend changes what a step of the world led to where a sea is different.
func (s *sea) amend(label string, n *sea) {
	if s.opt.latestIsDuplicate && strings.HasPrefix(label, "broker") && n.cur.waiting > s.cur.waiting &&
		n.rep[n.cur.broker].n == s.rep[n.cur.broker].n {
		n.reply(&n.cur, Duplicate, -1)
	}
	if strings.HasPrefix(label, "client reads success") && (s.w.phase == drain || n.w.cautious) {
		n.gated(n.w.outstanding == 0)
	}
	if n.w.end > s.w.end {
		n.splits++
		n.shift(uint8(n.w.una))
	}
}

// shift renumbers everything behind a batch that was split.
func (n *sea) shift(una uint8) {
	n.watch.absent(una)
	k := &n.watch
	for i := maxBatches - 1; i > int(una)+1; i-- {
		n.result[i], k.sent[i], k.doubt[i], k.number[i] = n.result[i-1], k.sent[i-1], k.doubt[i-1], k.number[i-1]
	}
	for i := una; i < una+2; i++ {
		n.result[i], k.sent[i], k.doubt[i], k.number[i] = unresolved, false, false, numbered{}
	}
	up := func(ms []rec) {
		for i := range ms {
			if m := &ms[i]; m.id > una && m.id < maxBatches-1 {
				m.id++
			}
		}
	}
	for b := range n.rep {
		up(n.rep[b].log[:n.rep[b].n])
	}
	for i := range n.old {
		up(n.old[i].reqs[:n.old[i].nreq])
	}
}

// try takes a step on a copy.
func (s *sea) try(emit func(string, sea, string), label string, step func(n *sea) (broken string)) {
	n := *s
	n.world = s.world.clone()
	broken := step(&n)
	if broken == "" {
		broken = n.judgeLog()
	}
	if broken == "" {
		broken = n.judgeStep(s)
	}
	emit(label, n, broken)
}

func (s *sea) callerSteps(emit func(string, sea, string)) {
	if s.left.admit > 0 && s.w.end < maxBatches {
		s.try(emit, "client admits", func(n *sea) string {
			n.left.admit--
			n.w.Admit(n.set.records)
			return ""
		})
	}
	if s.left.caution > 0 {
		s.try(emit, "client turns cautious or bold", func(n *sea) string {
			n.left.caution--
			on := !n.w.cautious
			n.w.Caution(on)
			if on && s.w.phase == open {
				n.gated(n.w.outstanding == 0)
			}
			return ""
		})
	}
	if s.left.regate > 0 {
		s.try(emit, "client gates again", func(n *sea) string {
			n.left.regate--
			return n.gated(n.w.Regate())
		})
	}
	if (s.left.expire > 0 || s.late) && s.w.una < s.w.end {
		s.try(emit, "deadline, any time", func(n *sea) string {
			n.left.expire--
			n.left.expire = max(n.left.expire, 0)
			r := n.set.variant.expire(&n.w)
			n.gated(n.w.outstanding == 0)
			return n.take(r)
		})
	}
	if s.left.newID > 0 || s.w.fenced {
		s.newIDStep(emit)
	}
	if s.left.abort > 0 {
		s.try(emit, "client aborts", func(n *sea) string {
			n.over = true
			r := n.w.Abort()
			n.abandon()
			return n.take(r)
		})
	}
}

func (s *sea) newIDStep(emit func(string, sea, string)) {
	n := *s
	n.world = s.world.clone()
	n.left.newID = max(0, n.left.newID-1)
	before := string(s.world.key(nil))
	if !n.w.SetProducer(s.w.producerID+1, 0) {
		if string(n.world.key(nil)) != before {
			emit("new id", n, "SetProducer refused and changed something")
		}
		return
	}
	n.gated(true)
	n.watch.absent(uint8(n.w.una))
	emit("new id", n, n.judgeStep(s))
}

func (s *sea) weatherSteps(emit func(string, sea, string)) {
	if s.left.foreign > 0 {
		s.try(emit, "another producer writes", func(n *sea) string {
			n.left.foreign--
			n.rep[n.leader].append(rec{pid: 99, base: int32(n.left.foreign), id: 255})
			n.commit()
			return ""
		})
	}
	if c := &s.cur; s.left.uncertain > 0 && c.nreq > 0 && c.waiting == 0 && s.rep[c.broker].leads {
		s.try(emit, fmt.Sprint("broker is uncertain about ", c.reqs[0].id), func(n *sea) string {
			n.left.uncertain--
			n.reply(&n.cur, Uncertain, -1)
			return ""
		})
	}
	if s.left.newLog > 0 && s.w.outstanding == 0 {
		s.try(emit, "new log: the topic is recreated", (*sea).recreate)
	}
}

// recreate deletes the log. The client learns of it while nothing is outstanding.
func (n *sea) recreate() string {
	n.left.newLog--
	for b := range n.rep {
		n.rep[b] = replica{leads: int8(b) == n.leader, synced: int8(b) != n.leader, led: n.rep[b].led}
	}
	n.hw = 0
	if n.opt.byTopicID {
		n.old = [maxConns]conn{}
		n.watch.absent(0)
	}
	for i, r := range n.result {
		n.gone[i] = r == written
	}
	r := n.set.variant.newLog(&n.w)
	n.gated(true)
	return n.take(r)
}

// judgeStep judges the Window itself after every step.
func (n *sea) judgeStep(before *sea) string {
	w := &n.w
	if n.finished() {
		if broken := n.judgeEnd(); broken != "" {
			return broken
		}
	}
	if c := n.clone(); w.nxt == w.end {
		c.w.Admit(n.set.records)
		if _, h := c.w.Peek(); h != w.Room(n.set.records) {
			return fmt.Sprintf("Room says %v, Peek %v", w.Room(n.set.records), h)
		}
	}
	out := int32(0)
	for i := w.una; i < w.max; i++ {
		if w.at(i).out {
			out++
			if i >= w.nxt {
				return "a batch that is outstanding and to be sent"
			}
		}
	}
	first := w.max == before.w.max+1 && w.epoch == before.w.epoch && w.producerID == before.w.producerID && w.una == before.w.una
	unresolved := before.w.max - before.w.una
	switch {
	case w.una > w.nxt || w.nxt > w.max || w.max > w.end:
		return "una <= nxt <= max <= end"
	case out != w.outstanding:
		return "outstanding does not count"
	case w.phase == drain && out == 0:
		return "draining with nothing outstanding"
	case w.phase == gate && out > 1:
		return "two in flight through the gate"
	case first && w.cautious && out > 1:
		return "a new batch in company in spite of caution"
	case first && unresolved > 0 && w.limits.Batches > 0 && unresolved >= uint64(w.limits.Batches):
		return "I12: beyond the cap on batches"
	}
	return ""
}

// judgeEnd judges the log once it cannot change any more.
func (s *sea) judgeEnd() string {
	for id := range s.w.end {
		if s.result[id] == written && !s.gone[id] && s.judgeWritten(uint8(id), -1) != "" {
			return "I1: acknowledged, and lost in the end"
		}
		if s.result[id] == unresolved {
			return "I6: no outcome"
		}
	}
	return ""
}
