package throttle

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-kafka/sluice/internal/brokermodel"
	"github.com/sluice-kafka/sluice/internal/modelcheck"
)

// The exhaustive checker visits every state of tiny worlds. The walks here go
// through bigger ones at random: more batches, more faults, and inputs that
// would multiply the states too much. For a long run:
//
//	go test ./throttle -run TestWalks -args -walk.steps=50000000
//
// A walk depends on its number alone: -walk.from=N repeats the one that failed,
// or begins where another long run ended.
var (
	walkSteps = flag.Int("walk.steps", 100_000, "steps of all random walks together")
	walkFrom  = flag.Uint64("walk.from", 0, "number of the first random walk")
)

// walkLimit is the number of steps after which a walk counts as stuck. A step is
// chosen at random, so that what can end does, long before.
const walkLimit = 100_000

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

func TestWalks(t *testing.T) {
	steps, number := 0, *walkFrom
	seen := map[string]int{}
	for ; steps < *walkSteps; number++ {
		w := newWalk(number)
		w.run()
		if w.broken != "" {
			t.Fatalf("%s", w)
		}
		steps += len(w.trace)
		w.count(seen)
	}
	t.Logf("walks up to %d, %d steps: %v", number, steps, seen)
	for _, must := range []string{"open", "drain", "sweep", "vouch", "written", "not written", "unknown", "split", "new id", "new log", "client asks", "client reads the log"} {
		if seen[must] == 0 {
			t.Errorf("no walk saw: %s", must)
		}
	}
}

// A walk that finds nothing must be able to: without one of its rules, a Window
// is found out within some thousand walks.
func TestWalksFindFaults(t *testing.T) {
	for name, v := range map[string]variant{
		"no gate":                           noGate,
		"resending before drained":          resendUndrained,
		"renumbering what is in doubt":      renumbers,
		"out of order taken as not written": outOfOrderIsAbsent,
		"duplicate taken as committed":      duplicateIsCommitted,
		"a new batch in a replay":           newInReplay,
		"reading past the high watermark":   readsPastTheMark,
		"a zombie taken for data loss":      zombieIsBelieved,
		"a hint that misled, taken again":   hintForEver,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range uint64(5000) {
				w := newWalk(n)
				w.set.variant = v
				if w.run(); w.broken != "" {
					t.Logf("walk %d: %s", n, w.broken)
					return
				}
			}
			t.Error("no walk found it")
		})
	}
}

// seas are small enough to visit every state, with inputs at any time that the
// worlds of check_test.go have only at some, or not at all.
var seas = []struct {
	setting
	options
	weather
}{
	{
		setting{
			name: "gated again and given up at any time", batches: 3, records: 1, replicas: 1, rules: stock1, anchored: true,
			faults: budget{cut: 1, refuse: 1},
		},
		options{byTopicID: true}, weather{regate: 1, expire: 1},
	},
	{
		setting{
			name: "another producer id at any calm moment", batches: 3, records: 1, replicas: 1, rules: stock5, anchored: true,
			faults: budget{cut: 2, refuse: 1},
		},
		options{byTopicID: true}, weather{newID: 1, expire: 1},
	},
	{
		setting{
			name: "another producer writes", batches: 3, records: 2, replicas: 2, rules: kip758, anchored: true, base: nearWrap,
			limits: allLimits(Limits{Sequences: 4}), faults: budget{cut: 1, elect: 1},
		},
		options{byTopicID: true}, weather{foreign: 1},
	},
	{
		setting{
			name: "duplicate even for the latest", batches: 4, records: 1, replicas: 1, rules: kip758, anchored: true,
			limits: allLimits(Limits{Batches: 3}), faults: budget{cut: 2},
		},
		options{byTopicID: true, latestIsDuplicate: true}, weather{},
	},
	{
		setting{
			name: "caution", batches: 3, records: 1, replicas: 1, rules: stock1, anchored: true,
			faults: budget{cut: 2, refuse: 1},
		},
		options{byTopicID: true}, weather{caution: 2},
	},
	{
		setting{
			name: "a recreated topic", batches: 3, records: 1, replicas: 1, rules: stock5, anchored: true,
			faults: budget{cut: 2, refuse: 1},
		},
		options{byTopicID: true}, weather{newLog: 1},
	},
	{
		// Named, not by id: a request for the old topic may land in the new one.
		setting{
			name: "a recreated topic, by name", batches: 3, records: 1, replicas: 1, rules: stock5, anchored: true,
			faults: budget{cut: 2, refuse: 1},
		},
		options{}, weather{newLog: 1},
	},
	{
		setting{
			name: "a split", batches: 2, records: 1, replicas: 1, rules: stock1, anchored: true,
			faults: budget{cut: 2, refuseForGood: 2},
		},
		options{byTopicID: true, splits: true}, weather{},
	},
	{
		setting{
			name: "abort", batches: 3, records: 1, replicas: 1, rules: stock1, anchored: true,
			faults: budget{cut: 1, refuse: 1},
		},
		options{byTopicID: true}, weather{abort: 1, regate: 1},
	},
}

func TestEveryStateOfSmallSeas(t *testing.T) {
	for _, tc := range seas {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set, opt := tc.setting, tc.options
			if opt.splits {
				set.variant.onSettle = splitting(set.records)
			}
			r := modelcheck.Explore(modelcheck.System[sea]{
				Start: sea{world: set.start(), opt: &opt, left: tc.weather, late: opt.latestIsDuplicate},
				Key:   func(dst []byte, s *sea) []byte { return s.key(dst) },
				Steps: func(s *sea, emit func(string, sea, string)) { s.steps(emit) },
				Done:  (*sea).finished,
			})
			if r.Found() != "" || !r.Complete {
				t.Fatalf("%s", r)
			}
			t.Log(r)
		})
	}
}

// walk is one random walk through a sea.
type walk struct {
	number uint64
	rng    *rand.Rand
	set    setting
	opt    options
	left   weather
	at     sea
	weight [kinds]int
	trace  []string
	phases [5]bool
	broken string
}

func newWalk(number uint64) *walk {
	w := &walk{number: number, rng: rand.New(rand.NewPCG(number, 758))}
	w.draw()
	w.at = sea{world: w.set.start(), opt: &w.opt, left: w.left}
	if w.opt.lastEpochs {
		w.at.w.epoch = math.MaxInt16 - 1
		for b := range w.at.rep {
			w.at.rep[b].log[0].epoch = int8(w.at.w.epoch & 0xff)
		}
	}
	return w
}

// upTo draws a number from 0 to n.
func (w *walk) upTo(n int) int8 { return int8(w.rng.IntN(n + 1)) }

func (w *walk) chance(percent int) bool { return w.rng.IntN(100) < percent }

// draw decides what this walk goes through. Every kind of fault is there in some
// walks only: too many at once keep each other from having an effect.
func (w *walk) draw() {
	some := func(n int) int8 {
		if w.chance(50) {
			return 0
		}
		return 1 + w.upTo(n-1)
	}
	w.set = setting{
		batches: uint8(maxBatches - some(maxBatches-1)), records: int32(1 + w.rng.IntN(3)), replicas: 1 + w.upTo(2),
		rules: []brokermodel.Rules{stock5, stock1, {Memory: 2, FirstMustBeZero: true}, kip758, {Window: 3}}[w.rng.IntN(5)],
		faults: budget{
			cut: some(5), refuse: some(3), refuseForGood: some(2), errorAfter: some(3), elect: some(4),
			reload: some(2), shrink: some(1), forget: some(1),
		},
		anchored: w.chance(70),
		asks:     []asking{neverAsks, mayAsk, alwaysAsks, askedOfALiar}[w.rng.IntN(4)],
		reads:    w.chance(30),
	}
	if w.set.replicas > 2 {
		w.set.faults.shrink = 0 // whoever joins the ISR of a world, all do
	}
	if w.set.anchored {
		w.set.base = []int32{10, 1<<31 - 1, 1<<31 - 2, 1<<31 - 5}[w.rng.IntN(4)]
	}
	for b := range w.set.limits[:3*w.upTo(1)] {
		w.set.limits[b] = Limits{Sequences: int32(some(7)), Batches: int32(some(4))}
	}
	w.opt = options{
		latestIsDuplicate: w.set.rules.Window > 0 && w.chance(30), byTopicID: true, lastEpochs: w.chance(10),
		splits: w.set.faults.refuseForGood > 0 && w.chance(50),
	}
	w.opt.merciless = !w.opt.latestIsDuplicate && !w.opt.lastEpochs
	if w.opt.splits {
		w.set.batches = min(w.set.batches, maxBatches-2)
		w.set.variant.onSettle = splitting(w.set.records)
	}
	for k := range w.weight {
		w.weight[k] = []int{2, 6, 20}[w.rng.IntN(3)]
	}
	w.weight[isFault] = 1 + w.rng.IntN(4)
	w.left = weather{
		regate: some(3), caution: some(3), expire: some(2), newID: some(2), uncertain: some(1), foreign: some(maxLog - maxBatches - 1),
		newLog: some(1) & w.upTo(1), abort: some(1) & w.upTo(1),
	}
	if !w.opt.splits {
		w.left.admit = w.upTo(maxBatches - int(w.set.batches))
	}
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

func (w *walk) run() {
	for w.broken == "" && !w.at.finished() {
		w.at.late = !w.opt.merciless && (len(w.trace) > 300 || w.at.w.fenced)
		if len(w.trace) == walkLimit {
			w.broken = "stuck"
			return
		}
		if !w.step() {
			w.broken = "nothing can happen any more"
		}
		w.phases[w.at.w.phase] = true
	}
}

// step takes one of the steps that are possible, by their weights.
func (w *walk) step() bool {
	total, label := 0, ""
	var next sea
	w.at.steps(func(l string, n sea, broken string) {
		if w.broken != "" {
			return
		}
		if broken != "" {
			w.broken, w.trace = broken, append(w.trace, l)
			return
		}
		weight := w.weight[kindOf(l)]
		if total += weight; w.rng.IntN(total) < weight {
			next, label = n, l
		}
	})
	if w.broken == "" && total > 0 {
		w.at = next
		w.trace = append(w.trace, label)
	}
	return total > 0 || w.broken != ""
}

// kinds of steps, whose likelihood is drawn for each walk
const (
	isFault = iota
	isWrite
	isBroker
	isRead
	isCluster
	isStraggler
	kinds
)

// kindOf tells the kind of a step by its label. The first word is not enough,
// for a broker that refuses is a fault.
func kindOf(label string) int {
	for _, s := range []string{
		"breaks", "elected", ", ", "gives up", "shrinks", "deadline", "forgets", "leaves", "aborts", "new", "uncertain about",
		"gates again", "turns", "reloads", "vanish",
	} {
		if strings.Contains(label, s) {
			return isFault
		}
	}
	switch label[0] {
	case 'c':
		if strings.HasPrefix(label, "client reads") {
			return isRead
		}
		return isWrite
	case 'b':
		return isBroker
	case 's':
		return isStraggler
	}
	return isCluster
}

func (w *walk) count(seen map[string]int) {
	seen["split"] += int(w.at.splits)
	for p, ok := range w.phases {
		if ok {
			seen[phase(p).String()]++
		}
	}
	for _, r := range w.at.result[:w.at.w.end] {
		seen[[...]string{"unresolved", "written", "not written", "unknown"}[r]]++
	}
	for _, l := range w.trace {
		for _, s := range []string{"new id", "new log", "client asks", "client reads the log"} {
			if strings.HasPrefix(l, s) {
				seen[s]++
			}
		}
	}
}

func (w *walk) String() string {
	trace := w.trace
	if len(trace) > 200 {
		trace = trace[len(trace)-200:]
	}
	return fmt.Sprintf("walk %d: %s\n%+v\n%+v\n  %s\n%+v", w.number, w.broken, w.set, w.opt, strings.Join(trace, "\n  "), w.at.w.State())
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

// gated tells the watch that only one batch may be in flight from here on.
func (n *sea) gated(drained bool) string {
	n.watch.healthy, n.watch.refused, n.watch.failed = false, false, !drained
	if drained != (n.w.outstanding == 0) {
		return "Regate says that nothing is outstanding"
	}
	return ""
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
	r := n.w.NewLog()
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
