package throttle

import (
	"testing"

	"github.com/sluice-kafka/sluice/internal/modelcheck"
)

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

func seaSystem(set setting, opt options, left weather) modelcheck.System[sea] {
	if opt.splits {
		set.variant.onSettle = splitting(set.records)
	}
	return modelcheck.System[sea]{
		Start: sea{world: set.start(), opt: &opt, left: left, late: opt.latestIsDuplicate},
		Key:   func(dst []byte, s *sea) []byte { return s.key(dst) },
		Steps: func(s *sea, emit func(string, sea, string)) { s.steps(emit) },
		Done:  (*sea).finished,
	}
}

func TestEveryStateOfSmallSeas(t *testing.T) {
	for _, tc := range seas {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := modelcheck.Explore(seaSystem(tc.setting, tc.options, tc.weather))
			if r.Found() != "" || !r.Complete {
				t.Fatalf("%s", r)
			}
			t.Log(r)
		})
	}
}
