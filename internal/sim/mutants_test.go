package sim

import (
	"slices"
	"sync/atomic"
	"testing"
)

// find looks for a seed that breaks an invariant.
func (m *mutant) find(s *sim, seeds uint64) (sc script, found bool) {
	s.v = m.variant
	for seed := range seeds {
		sc = script{seed: seed, opt: swarm(seed)}
		if m.tune != nil {
			m.tune(&sc.opt)
			sc.opt.tame()
		}
		if sc.play(s) != "" {
			return sc, true
		}
	}
	return sc, false
}

// found counts the mutants that were.
var found atomic.Int64

// A simulation that finds nothing must be able to: without one of its rules the
// client is found out, by an invariant that is named.
func TestEveryMutantIsFound(t *testing.T) {
	for _, m := range gallery {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var s sim
			switch sc, ok := m.find(&s, mutantSeeds); {
			case !ok && !patient:
				t.Skipf("not found within %d seeds", mutantSeeds)
			case !ok:
				t.Errorf("not found within %d seeds", mutantSeeds)
			case !slices.Contains(m.by, invariant(s.broken)):
				t.Errorf("seed %d: %s, and not by %v", sc.seed, s.broken, m.by)
			default:
				found.Add(1)
				t.Logf("%s: seed %d, step %d: %s", m.origin, sc.seed, s.steps, s.broken)
			}
		})
	}
}

// The options that help to find the mutants find nothing in the client as it is.
func TestTheClientIsNoMutant(t *testing.T) {
	for _, m := range gallery {
		if m.tune == nil {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var s sim
			sound := mutant{tune: m.tune}
			if sc, found := sound.find(&s, mutantSeeds/20); found {
				t.Errorf("seed %d: %s\n-sim.replay='%s'", sc.seed, s.broken, sc.String())
			}
		})
	}
}

// A failure comes down to the few faults that it takes.
func TestShrink(t *testing.T) {
	for _, name := range []string{"retry numbered anew: the log is doubled", "DUPLICATE taken for written"} {
		i := slices.IndexFunc(gallery, func(m mutant) bool { return m.name == name })
		var s sim
		sc, found := gallery[i].find(&s, 4000)
		if !found {
			t.Fatal(name + " was not found")
		}
		want := s.broken
		small := shrink(&s, sc)
		again, err := parseScript(small.String())
		if err != nil {
			t.Fatal(err)
		}
		if got := again.play(&s); invariant(got) != invariant(want) {
			t.Errorf("%s: %q became %q", name, want, got)
		}
		if len(small.kept) > 12 {
			t.Errorf("%s: %d faults are left", name, len(small.kept))
		}
		t.Logf("%s: %d faults, %s\n%s", name, len(small.kept), s.broken, small.String())
	}
}
