package throttle

import (
	"flag"
	"testing"

	"github.com/sluice-kafka/sluice/internal/brokermodel"
	"github.com/sluice-kafka/sluice/internal/modelcheck"
)

// checkBig adds worlds that take too long for every run of the tests.
var checkBig = flag.Bool("check.big", false, "visit every state of the big worlds of lanes as well")

// beginning is what a partition looks like where a lane begins in it, or is
// resumed.
type beginning struct {
	name    string
	begin   func(set *setting)
	matters func(set *setting) bool // or there is one that is like it
}

var beginnings = []beginning{
	{"", func(set *setting) { set.anchored = true }, func(*setting) bool { return true }},
	{", fresh", func(set *setting) { set.base = 0 }, func(*setting) bool { return true }},
	{
		// But for its offsets, and for brokers from 4.5 on, it is as fresh.
		", quiet for long", func(set *setting) { set.anchored, set.quiet = true, 1<<set.replicas-1 },
		func(set *setting) bool { return set.rules == firstIsZero },
	},
	{", forgotten by the leader", func(set *setting) { set.anchored, set.quiet = true, 1 }, (*setting).differs},
	{", forgotten by a follower", func(set *setting) { set.anchored, set.quiet = true, 2 }, (*setting).differs},
}

// differs is whether it is to be seen what one replica knows and another does not.
func (set *setting) differs() bool {
	return set.replicas > 1 && (set.faults.elect > 1 || set.faults.forget > 0)
}

// begun are the worlds with every beginning that matters there.
func begun(worlds []setting) (all []setting) {
	for _, set := range worlds {
		for _, b := range beginnings {
			if !b.matters(&set) && !*checkBig {
				continue
			}
			one := set
			if b.begin(&one); one.records == 0 {
				one.records = 1
			}
			one.asks, one.reads, one.learns = alwaysAsks, true, one.faults.elect > 0
			one.name += b.name
			all = append(all, one)
		}
	}
	return all
}

// firstIsZero is a broker from 4.5 on.
var firstIsZero = brokermodel.Rules{FirstMustBeZero: true}

// lanes are instances of a resumed window, which is what every lane has. Former
// processes write as well, or one that was paused and wakes up.
var lanes = []setting{
	{
		name: "a proof without offsets", proof: true, cuts: []int32{2, 1, 2}, replicas: 2, rules: stock1,
		faults: budget{elect: 1, former: 2},
	},
	{name: "stock, an election", cuts: []int32{2, 1}, replicas: 2, rules: stock1, faults: budget{elect: 1, former: 2}},
	{
		name: "kip-758, an election, wrap", cuts: []int32{2, 1}, replicas: 2, rules: kip758, base: 1<<31 - 1,
		limits: allLimits(Limits{Sequences: 1}), faults: budget{elect: 1, former: 2},
	},
	{
		name: "memory of five, deadlines", cuts: []int32{1, 2, 1}, replicas: 1, rules: stock5,
		faults: budget{cut: 1, refuse: 1, expire: 1, former: 2},
	},
	{name: "many cuts", cuts: []int32{2, 1}, replicas: 1, rules: stock1, faults: budget{cut: 1, refuseForGood: 1, former: 3}},
	{name: "hints that mislead", cuts: []int32{1, 1, 1, 1}, replicas: 1, rules: stock1, faults: budget{former: 2}},
	{name: "kip-758, a large batch", cuts: []int32{4}, replicas: 1, rules: kip758, faults: budget{cut: 1, former: 4}},

	{name: "refused for good", cuts: []int32{1, 1, 1}, replicas: 1, rules: stock5, faults: budget{cut: 1, refuseForGood: 2}},
	{
		name: "refused for good at a broker without state", cuts: []int32{2, 1}, replicas: 2, rules: stock5,
		faults: budget{elect: 2, refuseForGood: 1, former: 1},
	},
	{name: "there and back, a cut", cuts: []int32{1, 1}, replicas: 2, rules: stock1, faults: budget{cut: 1, elect: 2}},
	{
		name: "there and back, a cut, a proof without offsets", proof: true, cuts: []int32{1, 1, 1}, replicas: 2, rules: stock5,
		faults: budget{cut: 1, elect: 2},
	},
	{name: "there and back, two cuts, from 4.5", cuts: []int32{1, 1}, replicas: 2, rules: firstIsZero, faults: budget{cut: 2, elect: 2}},
	{name: "there and back, a former process", cuts: []int32{1, 1}, replicas: 2, rules: kip758, faults: budget{elect: 2, former: 1}},
	{name: "an election, a cut, a former process", cuts: []int32{1, 1}, replicas: 2, rules: stock1, faults: budget{cut: 1, elect: 1, former: 1}},
	{
		name: "forgotten after a pause, there and back", cuts: []int32{1, 1}, replicas: 2, rules: stock5,
		faults: budget{cut: 1, elect: 2, forget: 1},
	},
	{
		name: "forgotten after a pause, a former process", cuts: []int32{1, 1}, replicas: 2, rules: stock5,
		faults: budget{elect: 2, forget: 1, former: 1},
	},
	{
		name: "forgotten unnoticed, there and back", cuts: []int32{1, 1, 1}, replicas: 2, rules: stock5, forgets: unnoticed,
		faults: budget{cut: 1, elect: 2, forget: 1},
	},
	{
		name: "old timestamps, there and back", cuts: []int32{1, 1}, replicas: 2, rules: stock5, forgets: atAnyTime,
		faults: budget{cut: 1, elect: 2, forget: 1},
	},
	{
		name: "old timestamps, a former process", cuts: []int32{2, 1}, replicas: 1, rules: stock5, forgets: atAnyTime,
		faults: budget{cut: 1, forget: 2, former: 1},
	},
}

// bigLanes are worlds of some hundred thousand states each.
var bigLanes = []setting{
	{
		name: "forgotten after a pause, there and back, three batches", cuts: []int32{1, 1, 1}, replicas: 2, rules: stock5,
		faults: budget{cut: 1, elect: 2, forget: 1},
	},
	{name: "there and back, two cuts", cuts: []int32{1, 1}, replicas: 2, rules: stock5, faults: budget{cut: 2, elect: 2}},
	{
		name: "there and back, a cut, a former process", cuts: []int32{1, 1}, replicas: 2, rules: stock5,
		faults: budget{cut: 1, elect: 2, former: 1},
	},
	{
		name: "an election, a cut, a large batch, a former process", cuts: []int32{2}, replicas: 2, rules: kip758,
		limits: allLimits(Limits{Sequences: 1}), faults: budget{cut: 1, elect: 1, former: 2},
	},
	{
		name: "isr changes, a cut, a former process", cuts: []int32{1, 1}, replicas: 2, rules: stock1,
		faults: budget{cut: 1, elect: 1, shrink: 1, former: 1},
	},
	{
		name: "two cuts, a refusal for good, a former process", cuts: []int32{2, 1}, replicas: 1, rules: stock1,
		faults: budget{cut: 2, refuseForGood: 1, former: 1},
	},
	{
		name: "forgotten twice, there and back, a former process", cuts: []int32{1, 1, 1}, replicas: 2, rules: stock5,
		faults: budget{elect: 2, forget: 2, former: 1},
	},
	{
		name: "three replicas, forgotten after a pause", cuts: []int32{1, 1}, replicas: 3, rules: stock5,
		faults: budget{elect: 2, forget: 1, former: 1},
	},
	{
		name: "three replicas, old timestamps", cuts: []int32{1, 1, 1}, replicas: 3, rules: stock5, forgets: atAnyTime,
		faults: budget{elect: 2, forget: 1},
	},
	{
		name: "forgotten unnoticed, there and back, two cuts", cuts: []int32{1, 1, 1}, replicas: 2, rules: stock5, forgets: unnoticed,
		faults: budget{cut: 2, elect: 2, forget: 1},
	},
	{
		name: "old timestamps, there and back, a former process", cuts: []int32{1, 1}, replicas: 2, rules: stock5, forgets: atAnyTime,
		faults: budget{cut: 1, elect: 2, forget: 1, former: 1},
	},
}

func TestEveryStateOfLaneWorlds(t *testing.T) {
	if raceEnabled {
		t.Skip("nothing here is concurrent")
	}
	worlds := lanes
	if *checkBig {
		worlds = append(worlds[:len(worlds):len(worlds)], bigLanes...)
	}
	for _, set := range begun(worlds) {
		t.Run(set.name, func(t *testing.T) {
			t.Parallel()
			r := modelcheck.Explore(set.system())
			if r.Found() != "" || !r.Complete {
				t.Fatalf("%s", r)
			}
			t.Log(r)
		})
	}
}
