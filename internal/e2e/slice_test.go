package e2e

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A slice of what [TestSoak] does for as long as one likes: most faults, once.
// Stock brokers and those that speak KIP-758 are tried side by side, for most of
// the time is spent waiting for brokers to come back.

func TestThreeNodesStock(t *testing.T) {
	t.Parallel()
	a := openArena(t, 0)
	a.slice(t, "first batch refused", "cut", "elections", "acks lost, then cut", "half-open, requests",
		"stragglers, after the retry", "leader killed", "clean restarts in doubt", "leader asleep, zombie",
		"followers asleep", "producer forgotten", "all asleep past the deadline")
	t.Run("controls", func(t *testing.T) {
		t.Run("idempotence off", a.withoutIdempotence)
		t.Run("gate off", a.withoutGate)
	})
}

// The window is small enough to be met.
func TestThreeNodesKIP758(t *testing.T) {
	t.Parallel()
	a := openArena(t, smallWindow)
	a.slice(t, "first batch refused", "acks lost, then cut", "stragglers, at once", "half-open, responses", "leader killed",
		"leader asleep, zombie", "elections", "clean restarts in doubt",
		"stragglers past the deadline")
}

const smallWindow = 2000

func (a *arena) slice(t *testing.T, names ...string) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, name := range names {
		i := slices.IndexFunc(faults, func(f fault) bool { return f.name == name })
		if i < 0 {
			t.Fatalf("no fault is called %q", name)
		}
		t.Run(name, func(t *testing.T) { a.round(t, rng, nil, faults[i]) })
	}
	a.report(t)
}
