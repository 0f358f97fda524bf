package throttle

import (
	"strings"
	"testing"

	"github.com/sluice-kafka/sluice/internal/modelcheck"
)

// needed are variants of the Window, or of its owner, each without one rule, and
// the property that has to find it. Rules have the numbers of docs/window.md.
var needed = []struct {
	rule, property string
	setting
}{
	{"1", "alarm: gap", setting{
		name: "no gate, seen in the log", variant: noGate, ignoreWire: true, batches: 2, records: 1, replicas: 1,
		rules: stock5, faults: budget{refuse: 1},
	}},
	{"1", "I12", setting{
		name: "no gate, seen on the wire", variant: noGate, batches: 2, records: 1, replicas: 1, rules: stock5,
	}},
	{"1", "I12", setting{
		name: "a new batch before the first success of a replay", variant: newInReplay, batches: 4, records: 1, replicas: 1,
		rules: stock1, anchored: true, faults: budget{cut: 1},
	}},
	{"1", "alarm: gap", setting{
		name: "the gate is not armed again when the broker may have forgotten", variant: gateOnce, ignoreWire: true,
		batches: 3, records: 1, replicas: 1, rules: stock5, faults: budget{refuse: 1, forget: 1},
	}},
	{"1", "I14", setting{
		name: "the gate is not armed again for a new leader epoch, seen on the wire", variant: skipsRegate, batches: 3, records: 1,
		replicas: 2, rules: stock5, anchored: true, learns: true, faults: budget{elect: 2},
	}},
	{"1", "alarm: gap", setting{
		name: "the gate is not armed again for a new leader epoch, seen in the log", variant: skipsRegate, ignoreWire: true,
		batches: 3, records: 1, replicas: 1, rules: stock5, learns: true, forgets: withALeaderEpoch, faults: budget{refuse: 1, forget: 1},
	}},
	{"2", "I14", setting{
		name: "resending before drained", variant: resendUndrained, batches: 3, records: 1, replicas: 1,
		rules: stock1, anchored: true, faults: budget{refuse: 1},
	}},
	{"3", modelcheck.Stuck, setting{
		name: "a replay bound by the distance", variant: boundByDistance, batches: 3, records: 1, replicas: 2,
		rules: kip758, anchored: true, limits: [3]Limits{{Sequences: 3}, {Sequences: 1}}, faults: budget{cut: 1, elect: 1},
	}},
	{"3", "I12", setting{
		name: "a first write whatever the distance", variant: ignoresDistance, batches: 3, records: 1, replicas: 1, rules: kip758,
		limits: allLimits(Limits{Sequences: 1}),
	}},
	{"4", modelcheck.Stuck, setting{
		name: "a replay that stops at the first refusal", variant: stopsAtFirstRefusal, batches: 3, records: 1, replicas: 1,
		rules: stock1, anchored: true, faults: budget{cut: 1},
	}},
	{"4", "I1", setting{
		name: "duplicate taken as committed", variant: duplicateIsCommitted, batches: 3, records: 1, replicas: 2,
		rules: kip758, anchored: true, faults: budget{cut: 2, elect: 2},
	}},
	{"4", "I1", setting{
		name: "the broker's state taken as committed", variant: hintIsCommitted, batches: 2, records: 1, replicas: 2,
		rules: stock5, faults: budget{cut: 1},
	}},
	{"4", "I1", setting{
		name: "read above the high watermark", variant: readsPastTheMark, batches: 1, records: 1, replicas: 2, rules: stock5,
		anchored: true, faults: budget{cut: 1}, reads: true,
	}},
	{"5", "I10", setting{
		name: "renumbering what is in doubt, seen on the wire", variant: renumbers, batches: 2, records: 1, replicas: 1,
		rules: stock5, faults: budget{cut: 1},
	}},
	{"5", "I2", setting{
		name: "renumbering what is in doubt, seen in the log", variant: renumbers, ignoreWire: true, batches: 1, records: 1,
		replicas: 1, rules: stock5, faults: budget{cut: 1},
	}},
	{"5", modelcheck.Stuck, setting{
		name: "only the expired head given up", variant: expiresHeadOnly, batches: 3, records: 1, replicas: 2,
		rules: stock1, anchored: true, faults: budget{cut: 1, expire: 1},
	}},
	{"5", "I3", setting{
		name: "a new producer id over Unknown", variant: newIDOverUnknown, ignoreWire: true, batches: 2, records: 1, replicas: 1,
		rules: stock5, faults: budget{cut: 1, expire: 1},
	}},
	{"5", "I4", setting{
		name: "out of order taken as not written", variant: outOfOrderIsAbsent, ignoreWire: true, batches: 3, records: 1,
		replicas: 1, rules: stock1, anchored: true, faults: budget{cut: 1, expire: 1},
	}},
	{"6", "I4", setting{
		name: "absence of one batch ends the doubt of a straggler behind it", variant: absenceEndsDoubt, ignoreWire: true,
		batches: 3, records: 1, replicas: 1, rules: stock5, anchored: true, faults: budget{cut: 2, refuse: 1, expire: 1},
	}},
	{"7", "I1", setting{
		name: "one new batch vouches in an epoch without a success", variant: vouchesUnknown, ignoreWire: true, batches: 2,
		records: 1, replicas: 1, rules: stock5, faults: budget{cut: 1, refuseForGood: 1},
	}},
	{"8", "I2", setting{
		name: "state lost while in doubt, and nobody asks", batches: 1, records: 1, replicas: 1, rules: stock5, anchored: true,
		faults: budget{cut: 1, forget: 1}, forgets: unnoticed,
	}},
	{"9", "I10", setting{
		name: "a given-up batch leaves its sequence to another", variant: reusesSequences, batches: 3, records: 1, replicas: 1,
		rules: stock5, anchored: true, base: 1, faults: budget{refuse: 1, expire: 1},
	}},
	{"asking", "I1", setting{
		name: "a hint in an epoch without a success", variant: hintBeforeSuccess, ignoreWire: true, batches: 2, records: 1,
		replicas: 1, rules: stock5, faults: budget{cut: 1}, asks: askedOfALiar,
	}},
	{"asking", modelcheck.Stuck, setting{
		name: "a hint that misled, taken again", variant: hintForEver, batches: 3, records: 1, replicas: 1, rules: stock1,
		anchored: true, faults: budget{cut: 1}, asks: askedOfALiar,
	}},
	{"asking", "I15", setting{
		name: "a zombie that is behind taken for data loss", variant: zombieIsBelieved, batches: 1, records: 1, replicas: 2,
		rules: stock5, anchored: true, faults: budget{cut: 1, elect: 1, shrink: 1}, asks: mayAsk,
	}},
	{"asking", "I15", setting{
		name: "the leader epoch that metadata names taken for that of a success", variant: believesMetadata, batches: 1,
		records: 1, replicas: 2, rules: stock5, anchored: true, faults: budget{cut: 1, elect: 2, shrink: 1}, asks: mayAsk,
	}},
	{"lanes", modelcheck.Stuck, setting{
		name: "resumed, and nobody asks", cuts: []int32{2, 1}, records: 1, replicas: 1, rules: stock5, anchored: true,
		faults: budget{former: 1}, reads: false,
	}},
	{"lanes", modelcheck.Stuck, setting{
		name: "resumed, and the log is not read", cuts: []int32{2}, records: 1, replicas: 1, rules: stock1, anchored: true,
		faults: budget{former: 1}, asks: alwaysAsks,
	}},
	{"lanes", modelcheck.Stuck, setting{
		name: "resumed, and no batch is cut anew", variant: cutsAsBefore, cuts: []int32{2}, records: 1, replicas: 1,
		rules: stock5, anchored: true, faults: budget{former: 1}, asks: alwaysAsks, reads: true,
	}},
	{"lanes", "I1", setting{
		name: "resumed, duplicate taken as committed", variant: duplicateIsCommitted, cuts: []int32{2}, records: 1, replicas: 1,
		rules: kip758, anchored: true, faults: budget{former: 1}, asks: alwaysAsks, reads: true,
	}},
	{"lanes", "I15", setting{
		name: "resumed, and taken for the only owner", variant: resumesAsFirst, cuts: []int32{1, 1}, records: 1, replicas: 1,
		rules: stock5, anchored: true, faults: budget{former: 1}, asks: alwaysAsks, reads: true,
	}},
	{"lanes", "I3", setting{
		name: "resumed, a deadline as without", variant: newEpochResumed, cuts: []int32{1, 1}, records: 1, replicas: 1,
		rules: stock5, anchored: true, faults: budget{expire: 1, former: 1},
	}},
	{"lanes", modelcheck.Stuck, setting{
		name: "resumed, and the log is not read after a hint that misled", variant: deafAndLost, cuts: []int32{1, 1, 1, 1}, records: 1,
		replicas: 1, rules: stock1, anchored: true, faults: budget{former: 2}, asks: alwaysAsks, reads: true,
	}},
	{"lanes", "I3", setting{
		name: "resumed, vouching without a success since", variant: vouchesUnproved, cuts: []int32{1, 1}, records: 1, replicas: 1,
		rules: stock5, faults: budget{refuseForGood: 1}, asks: alwaysAsks, reads: true,
	}},
	{"lanes", "I3", setting{
		name: "resumed, a replay placed without a success since", variant: placesUnproved, cuts: []int32{1, 1}, records: 1, replicas: 2,
		rules: stock5, faults: budget{cut: 1, elect: 2}, asks: alwaysAsks, reads: true,
	}},
	{"lanes", "I3", setting{
		name: "resumed, a replay placed without a success since, from 4.5 in a used log", variant: placesUnproved, cuts: []int32{1, 1},
		records: 1, replicas: 2, rules: firstIsZero, anchored: true, quiet: 3, faults: budget{cut: 1, elect: 2}, asks: alwaysAsks, reads: true,
	}},
	{"lanes", "I3", setting{
		name: "resumed, a replay that goes on without a success since", variant: sweepsUnproved, cuts: []int32{2}, records: 1,
		replicas: 2, rules: stock5, faults: budget{elect: 2, refuseForGood: 1, former: 1}, asks: alwaysAsks, reads: true,
	}},
	{"lanes", "I3", setting{
		name: "resumed, a success counts although a pause came after it", variant: pauseChangesNothing, cuts: []int32{1, 1, 1},
		records: 1, replicas: 2, rules: stock5, faults: budget{elect: 2, forget: 1, former: 1}, asks: alwaysAsks, reads: true,
	}},
	{"lanes", "I3", setting{
		name: "resumed, a success counts although a broker knows nothing", variant: silenceChangesNothing, cuts: []int32{1, 1, 1},
		records: 1, replicas: 2, rules: stock5, forgets: unnoticed, faults: budget{cut: 2, elect: 2, forget: 1}, asks: alwaysAsks, reads: true,
	}},
	{"lanes", "I3", setting{
		name: "resumed, a success with an old timestamp counts", variant: countsOldSuccesses, cuts: []int32{1, 1, 1},
		records: 1, replicas: 3, rules: stock5, forgets: atAnyTime, faults: budget{elect: 2, forget: 1}, asks: alwaysAsks, reads: true,
	}},
	{"lanes", "I2", setting{
		name: "resumed, what was forgotten is said to be remembered", variant: alwaysRemembers, cuts: []int32{1}, records: 1, replicas: 1,
		rules: stock5, faults: budget{forget: 1, former: 1}, asks: alwaysAsks, reads: true,
	}},
	{"lanes", "I15", setting{
		name: "resumed, and what is remembered is not believed", variant: neverRemembers, cuts: []int32{1}, records: 1, replicas: 1,
		rules: stock5, asks: alwaysAsks, reads: true,
	}},
}

// neededAtSea are those that take more than a world has.
var neededAtSea = []struct {
	rule, property string
	setting
	options
	weather
}{
	{
		"8", "I3", setting{
			name: "a batch that is absent ends what became of a lost state", variant: disownsUpToAGap, batches: 3, records: 1, replicas: 1,
			rules: stock5, anchored: true, faults: budget{cut: 1, refuse: 1},
		},
		options{}, weather{newLog: 1},
	},
}

func TestEveryRuleIsNeeded(t *testing.T) {
	names, rules := map[string]bool{}, map[string]bool{}
	need := func(rule, property, name string, explore func() modelcheck.Result) {
		if names[name] {
			t.Errorf("two variants are called %q", name)
		}
		names[name], rules[rule] = true, true
		t.Run(rule+": "+name, func(t *testing.T) {
			t.Parallel()
			if r := explore(); r.Found() != property && !strings.HasPrefix(r.Found(), property+":") {
				t.Fatalf("want %s, found %s", property, r)
			} else {
				t.Log(r)
			}
		})
	}
	for _, one := range needed {
		need(one.rule, one.property, one.name, func() modelcheck.Result { return modelcheck.Explore(one.system()) })
	}
	for _, one := range neededAtSea {
		need(one.rule, one.property, one.name, func() modelcheck.Result {
			return modelcheck.Explore(seaSystem(one.setting, one.options, one.weather))
		})
	}
	for _, rule := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "asking", "lanes"} {
		if !rules[rule] {
			t.Errorf("no variant is without rule %s", rule)
		}
	}
}
