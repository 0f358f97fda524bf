package throttle

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluice-kafka/sluice/internal/brokermodel"
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
