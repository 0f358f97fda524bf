package throttle

import (
	"strings"
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
		faults: budget{cut: 2, forget: 1}, asks: alwaysAsks, reads: true, losesState: true,
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

// resumed are instances of a window that goes on where a former process came
// to, while that one's requests still arrive, or it wakes up.
var resumed = []setting{
	{
		name: "a proof without offsets", proof: true, cuts: []int32{2, 1, 2}, records: 1, replicas: 2, rules: stock1, anchored: true,
		faults: budget{elect: 1, former: 2}, asks: alwaysAsks, reads: true,
	},
	{
		name: "stock, an election", cuts: []int32{2, 1}, records: 1, replicas: 2, rules: stock1, anchored: true,
		faults: budget{elect: 1, former: 2}, asks: alwaysAsks, reads: true,
	},
	{
		name: "kip-758, an election, wrap", cuts: []int32{2, 1}, records: 1, replicas: 2, rules: kip758, anchored: true, base: 1<<31 - 1,
		limits: allLimits(Limits{Sequences: 1}), faults: budget{elect: 1, former: 2}, asks: alwaysAsks, reads: true,
	},
	{
		name: "memory of five, deadlines", cuts: []int32{1, 2, 1}, records: 1, replicas: 1, rules: stock5, anchored: true,
		faults: budget{cut: 1, refuse: 1, expire: 1, former: 2}, asks: alwaysAsks, reads: true,
	},
	{
		name: "many cuts", cuts: []int32{2, 1}, records: 1, replicas: 1, rules: stock1, anchored: true,
		faults: budget{cut: 1, refuseForGood: 1, former: 3}, asks: alwaysAsks, reads: true,
	},
	{
		name: "hints that mislead", cuts: []int32{1, 1, 1, 1}, records: 1, replicas: 1, rules: stock1, anchored: true,
		faults: budget{former: 2}, asks: alwaysAsks, reads: true,
	},
	{
		name: "kip-758, a large batch", cuts: []int32{4}, records: 1, replicas: 1, rules: kip758, anchored: true,
		faults: budget{cut: 1, former: 4}, asks: alwaysAsks, reads: true,
	},
}

func TestEveryStateOfResumedWorlds(t *testing.T) {
	if raceEnabled {
		t.Skip("nothing here is concurrent")
	}
	for _, set := range resumed {
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

// mustFail are variants of the Window, each without one rule, and the property
// that has to find it.
var mustFail = []struct {
	property string
	setting
}{
	{"alarm: gap", setting{
		name: "no gate: the log gets a gap", variant: noGate, ignoreWire: true, batches: 2, records: 1, replicas: 1,
		rules: stock5, faults: budget{refuse: 1},
	}},
	{"I12", setting{
		name: "no gate", variant: noGate, batches: 2, records: 1, replicas: 1, rules: stock5,
	}},
	{"I12", setting{
		name: "a new batch before the first success of a replay", variant: newInReplay, batches: 4, records: 1, replicas: 1,
		rules: stock1, anchored: true, faults: budget{cut: 1},
	}},
	{"I14", setting{
		name: "resending before drained", variant: resendUndrained, batches: 3, records: 1, replicas: 1,
		rules: stock1, anchored: true, faults: budget{refuse: 1},
	}},
	{"I10", setting{
		name: "renumbering what is in doubt", variant: renumbers, batches: 2, records: 1, replicas: 1,
		rules: stock5, faults: budget{cut: 1},
	}},
	{"I2", setting{
		name: "renumbering what is in doubt: the log is doubled", variant: renumbers, ignoreWire: true, batches: 1, records: 1,
		replicas: 1, rules: stock5, faults: budget{cut: 1},
	}},
	{modelcheck.Stuck, setting{
		name: "only the expired head given up", variant: expiresHeadOnly, batches: 3, records: 1, replicas: 2,
		rules: stock1, anchored: true, faults: budget{cut: 1, expire: 1},
	}},
	{"I3", setting{
		name: "a new producer id over Unknown", variant: newIDOverUnknown, ignoreWire: true, batches: 2, records: 1, replicas: 1,
		rules: stock5, faults: budget{cut: 1, expire: 1},
	}},
	{modelcheck.Stuck, setting{
		name: "a replay that stops at the first refusal", variant: stopsAtFirstRefusal, batches: 3, records: 1, replicas: 1,
		rules: stock1, anchored: true, faults: budget{cut: 1},
	}},
	{modelcheck.Stuck, setting{
		name: "a replay bound by the distance", variant: boundByDistance, batches: 3, records: 1, replicas: 2,
		rules: kip758, anchored: true, limits: [3]Limits{{Sequences: 3}, {Sequences: 1}}, faults: budget{cut: 1, elect: 1},
	}},
	{"I4", setting{
		name: "out of order taken as not written", variant: outOfOrderIsAbsent, ignoreWire: true, batches: 3, records: 1,
		replicas: 1, rules: stock1, anchored: true, faults: budget{cut: 1, expire: 1},
	}},
	{"I1", setting{
		name: "duplicate taken as committed", variant: duplicateIsCommitted, batches: 3, records: 1, replicas: 2,
		rules: kip758, anchored: true, faults: budget{cut: 2, elect: 2},
	}},
	{"I4", setting{
		name: "absence of one batch ends the doubt of a straggler behind it", variant: absenceEndsDoubt, ignoreWire: true,
		batches: 3, records: 1, replicas: 1, rules: stock5, anchored: true, faults: budget{cut: 2, refuse: 1, expire: 1},
	}},
	{"I1", setting{
		name: "one new batch vouches in an epoch without a success", variant: vouchesUnknown, ignoreWire: true, batches: 2,
		records: 1, replicas: 1, rules: stock5, faults: budget{cut: 1, refuseForGood: 1},
	}},
	{"I10", setting{
		name: "a given-up batch leaves its sequence to another", variant: reusesSequences, batches: 3, records: 1, replicas: 1,
		rules: stock5, anchored: true, base: 1, faults: budget{refuse: 1, expire: 1},
	}},
	{"I1", setting{
		name: "the broker's state taken as committed", variant: hintIsCommitted, batches: 2, records: 1, replicas: 2,
		rules: stock5, faults: budget{cut: 1},
	}},
	{"I1", setting{
		name: "a hint in an epoch without a success", variant: hintBeforeSuccess, ignoreWire: true, batches: 2, records: 1,
		replicas: 1, rules: stock5, faults: budget{cut: 1}, asks: askedOfALiar,
	}},
	{modelcheck.Stuck, setting{
		name: "a hint that misled, taken again", variant: hintForEver, batches: 3, records: 1, replicas: 1, rules: stock1,
		anchored: true, faults: budget{cut: 1}, asks: askedOfALiar,
	}},
	{"I15", setting{
		name: "a zombie that is behind taken for data loss", variant: zombieIsBelieved, batches: 1, records: 1, replicas: 2,
		rules: stock5, anchored: true, faults: budget{cut: 1, elect: 1, shrink: 1}, asks: mayAsk,
	}},
	{"I15", setting{
		name: "the leader epoch that metadata names taken for that of a success", variant: believesMetadata, batches: 1,
		records: 1, replicas: 2, rules: stock5, anchored: true, faults: budget{cut: 1, elect: 2, shrink: 1}, asks: mayAsk,
	}},
	{"I2", setting{
		name: "state lost while in doubt, and nobody asks", batches: 1, records: 1, replicas: 1, rules: stock5, anchored: true,
		faults: budget{cut: 1, forget: 1}, losesState: true,
	}},
	{"I1", setting{
		name: "read above the high watermark", variant: readsPastTheMark, batches: 1, records: 1, replicas: 2, rules: stock5,
		anchored: true, faults: budget{cut: 1}, reads: true,
	}},
	{modelcheck.Stuck, setting{
		name: "resumed, and nobody asks", cuts: []int32{2, 1}, records: 1, replicas: 1, rules: stock5, anchored: true,
		faults: budget{former: 1}, reads: false,
	}},
	{modelcheck.Stuck, setting{
		name: "resumed, and the log is not read", cuts: []int32{2}, records: 1, replicas: 1, rules: stock1, anchored: true,
		faults: budget{former: 1}, asks: alwaysAsks,
	}},
	{modelcheck.Stuck, setting{
		name: "resumed, and no batch is cut anew", variant: cutsAsBefore, cuts: []int32{2}, records: 1, replicas: 1,
		rules: stock5, anchored: true, faults: budget{former: 1}, asks: alwaysAsks, reads: true,
	}},
	{"I1", setting{
		name: "resumed, duplicate taken as committed", variant: duplicateIsCommitted, cuts: []int32{2}, records: 1, replicas: 1,
		rules: kip758, anchored: true, faults: budget{former: 1}, asks: alwaysAsks, reads: true,
	}},
	{"I15", setting{
		name: "resumed, and taken for the only owner", variant: resumesAsFirst, cuts: []int32{1, 1}, records: 1, replicas: 1,
		rules: stock5, anchored: true, faults: budget{former: 1}, asks: alwaysAsks, reads: true,
	}},
	{"I1", setting{
		name: "resumed, a deadline as without", variant: newEpochResumed, cuts: []int32{1, 1}, records: 1, replicas: 1,
		rules: stock5, anchored: true, faults: budget{expire: 1, former: 1},
	}},
	{modelcheck.Stuck, setting{
		name: "resumed, and the log is not read after a hint that misled", variant: deafAndLost, cuts: []int32{1, 1, 1, 1}, records: 1,
		replicas: 1, rules: stock1, anchored: true, faults: budget{former: 2}, asks: alwaysAsks, reads: true,
	}},
	{"alarm: gap", setting{
		name: "the gate is not armed again when the broker may have forgotten", variant: gateOnce, ignoreWire: true,
		batches: 3, records: 1, replicas: 1, rules: stock5, faults: budget{refuse: 1, forget: 1},
	}},
}

func TestEveryRuleIsNeeded(t *testing.T) {
	for _, tc := range mustFail {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set := tc.setting
			if r := modelcheck.Explore(set.system()); !strings.HasPrefix(r.Found(), tc.property) {
				t.Fatalf("want %s, found %s", tc.property, r)
			} else {
				t.Log(r)
			}
		})
	}
}
