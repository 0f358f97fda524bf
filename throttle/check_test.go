package throttle

import (
	"testing"

	"github.com/sluice-kafka/sluice/internal/brokermodel"
	"github.com/sluice-kafka/sluice/internal/modelcheck"
)

var (
	stock5 = brokermodel.Rules{}
	stock1 = brokermodel.Rules{Memory: 1}
	kip758 = brokermodel.Rules{Window: 1000}
)

func allLimits(l Limits) [3]Limits { return [3]Limits{l, l, l} }

const nearWrap = 1<<31 - 3

// sound are the instances in which nothing may be found.
var sound = []setting{
	{
		name: "stock, two cuts and an election", batches: 3, records: 1, replicas: 2, rules: stock5,
		limits: allLimits(Limits{}), faults: budget{cut: 2, elect: 1, reload: 1},
	},
	{
		name: "memory of one, back and forth", batches: 3, records: 1, replicas: 2, rules: stock1, anchored: true,
		limits: allLimits(Limits{}), faults: budget{cut: 2, elect: 2},
	},
	{
		name: "refusals and errors after the append", batches: 3, records: 1, replicas: 2, rules: stock1, anchored: true,
		limits: allLimits(Limits{Sequences: 2}), faults: budget{cut: 1, elect: 1, refuse: 1, refuseForGood: 1, errorAfter: 1},
	},
	{
		name: "deadlines", batches: 3, records: 1, replicas: 2, rules: stock1,
		limits: allLimits(Limits{}), faults: budget{cut: 2, elect: 1, refuse: 1, expire: 2},
	},
	{
		name: "kip-758, window differs between leaders", batches: 4, records: 1, replicas: 2, rules: kip758, anchored: true,
		limits: [3]Limits{{Sequences: 3}, {Sequences: 1}}, faults: budget{cut: 1, elect: 2},
	},
	{
		name: "kip-758, wrap, two records a batch", batches: 3, records: 2, replicas: 2, rules: kip758, anchored: true, base: nearWrap,
		limits: allLimits(Limits{Sequences: 4}), faults: budget{cut: 2, elect: 1, expire: 1},
	},
	{
		name: "stock, wrap", batches: 3, records: 2, replicas: 2, rules: stock1, anchored: true, base: nearWrap,
		limits: allLimits(Limits{Batches: 2}), faults: budget{cut: 2, elect: 1, refuseForGood: 1},
	},
	{
		name: "isr changes", batches: 3, records: 1, replicas: 2, rules: stock1, anchored: true,
		limits: allLimits(Limits{}), faults: budget{cut: 1, elect: 2, shrink: 1, reload: 1},
	},
	{
		name: "three replicas", batches: 2, records: 1, replicas: 3, rules: stock1, anchored: true,
		limits: allLimits(Limits{}), faults: budget{cut: 1, elect: 2},
	},
	{
		name: "forgotten while calm", batches: 3, records: 1, replicas: 2, rules: stock5,
		limits: allLimits(Limits{}), faults: budget{cut: 1, elect: 1, refuse: 1, forget: 1},
	},
	{
		name: "a leader epoch without state", batches: 3, records: 1, replicas: 2, rules: stock5, learns: true,
		limits: allLimits(Limits{}), faults: budget{cut: 1, refuse: 1, forget: 1}, forgets: withALeaderEpoch,
	},
	{
		name: "back and forth, and the client learns of it", batches: 3, records: 1, replicas: 2, rules: stock1, anchored: true, learns: true,
		limits: allLimits(Limits{}), faults: budget{cut: 1, elect: 2},
	},
}

// asked are instances in which the client asks brokers and reads the log, and
// nothing may be found either.
var asked = []setting{
	{
		name: "asked, memory of one, back and forth", batches: 3, records: 1, replicas: 2, rules: stock1, anchored: true,
		faults: budget{cut: 1, elect: 2}, asks: mayAsk, reads: true,
	},
	{
		name: "asked, isr changes", batches: 3, records: 1, replicas: 2, rules: stock1, anchored: true,
		faults: budget{cut: 1, elect: 2, shrink: 1}, asks: mayAsk, reads: true,
	},
	{
		name: "asked, kip-758, wrap, deadlines", batches: 3, records: 2, replicas: 2, rules: kip758, anchored: true, base: nearWrap,
		limits: allLimits(Limits{Sequences: 4}), faults: budget{cut: 2, elect: 1, expire: 1}, asks: mayAsk, reads: true,
	},
	{
		name: "asked, from the first batch on, refusals", batches: 3, records: 1, replicas: 2, rules: stock5,
		faults: budget{cut: 2, elect: 1, refuse: 1}, asks: mayAsk, reads: true,
	},
	{
		name: "asked, forgotten while calm", batches: 3, records: 1, replicas: 2, rules: stock5,
		faults: budget{cut: 1, elect: 1, forget: 1}, asks: mayAsk, reads: true,
	},
	{
		name: "always asks", batches: 3, records: 1, replicas: 2, rules: stock1, anchored: true,
		faults: budget{cut: 1, elect: 2}, asks: alwaysAsks,
	},
	{
		name: "asked, state lost while in doubt", batches: 3, records: 1, replicas: 2, rules: stock5, anchored: true,
		faults: budget{cut: 2, forget: 1}, asks: alwaysAsks, reads: true, forgets: unnoticed,
	},
	{
		name: "always asks a liar", batches: 3, records: 1, replicas: 2, rules: stock1, anchored: true,
		faults: budget{cut: 2, elect: 1}, asks: askedOfALiar,
	},
	{
		name: "asked, a hint waits for the first success", variant: noGateAtFirst, ignoreWire: true, batches: 2, records: 1, replicas: 1,
		rules: stock5, faults: budget{cut: 1}, asks: askedOfALiar,
	},
}

func TestEveryStateOfSmallWorlds(t *testing.T) {
	worlds := append(sound[:len(sound):len(sound)], asked...)
	if raceEnabled {
		worlds = sound
	}
	for _, set := range worlds {
		t.Run(set.name, func(t *testing.T) {
			t.Parallel()
			if raceEnabled {
				set.faults.elect, set.faults.cut = min(set.faults.elect, 1), 1
			}
			r := modelcheck.Explore(set.system())
			if r.Found() != "" || !r.Complete {
				t.Fatalf("%s", r)
			}
			t.Log(r)
		})
	}
}
