package sim

import (
	"slices"
	"strings"
	"testing"
)

// cells says in which states of a partition each fault must have had its effect,
// or nothing is proven about it there.
var cells = []struct {
	states string
	faults []effect
}{
	{"idle ready gated few many head placed sweep drain backoff doubt asking reading throttled", []effect{eCutRST, eCutFIN, eShrunk}},
	{"gated few many head placed sweep drain backoff doubt asking reading throttled", []effect{eLeaderKilled, ePreferred}},
	{"gated few many head drain backoff doubt asking", []effect{eLeaderPaused, eShutdown, eDeleted}},
	{"gated few many head sweep drain backoff doubt asking", []effect{eUncleanElection, eMissingMetadata, eBackwardMetadata}},
	{"gated few many head drain backoff doubt asking", []effect{eStaleMetadata}},
	{"gated few many head placed sweep vouch drain", []effect{eRequestLost, eRefused, eRefusedGood}},
	{"gated few many head placed sweep drain", []effect{eAnswerLost, eOmitted, eUncertainBefore, eClientTimeout}},
	{"gated few many head sweep drain", []effect{eUncertainAfter, eZombieAppend, ePurgatory, eBelowMinBefore, eHoleIn, eHoleOut}},
	{"gated few many head drain", []effect{eBelowMinAfter, eDeposedAfterAppend}},
	{"asking", []effect{eAnswerLost, eRequestLost, eHoleIn, eHoleOut, eClientTimeout, eAskRefused}},
	{"gated few many head placed sweep drain backoff doubt asking throttled", []effect{eStragglerAppended}},
	{"gated few many head placed sweep drain backoff asking", []effect{eThrottled}},
	{"few many head placed sweep drain backoff doubt asking", []effect{eSnapshotInDoubt}},
	{"ready backoff doubt asking throttled", []effect{eExpired}},
	{"backoff doubt asking", []effect{eExpiredInDoubt}},
	{"gated head drain backoff doubt asking", []effect{eStateExpired}},
	{"few many head", []effect{eSecondOwner}},
	{"doubt", []effect{eForgotUnderDoubt, eSeen}},
	{"asking", []effect{eGoneTold, ePlaceTold, eLossTold, eOtherTold}},
	{"ready", []effect{eForgottenIdle}},
}

// emptyCells names those cells of the matrix that stayed empty.
func emptyCells(m *Matrix) (names []string) {
	for _, c := range cells {
		for _, name := range strings.Fields(c.states) {
			t := slices.Index(stateNames[:], name)
			for _, e := range c.faults {
				if m[e][t] == 0 {
					names = append(names, effectNames[e]+" in state "+name)
				}
			}
		}
	}
	return names
}

// ways are the ways from one phase of the window to another.
const ways = "go gd gs gv og od dg sg so sd sv vg vo vd"

// untaken names the ways that no window went.
func untaken(p *Phases) (names []string) {
	for _, w := range strings.Fields(ways) {
		from, to := strings.IndexByte(phaseLetters, w[0]), strings.IndexByte(phaseLetters, w[1])
		if p[from][to] == 0 {
			names = append(names, phaseNames[from]+" to "+phaseNames[to])
		}
	}
	return names
}

// A cell or a way that stayed empty is named.
func TestEmptyCellsAreNamed(t *testing.T) {
	var m Matrix
	var p Phases
	for e := range m {
		for st := range m[e] {
			m[e][st] = 1
		}
	}
	for from := range p {
		for to := range p[from] {
			p[from][to] = 1
		}
	}
	if names := append(emptyCells(&m), untaken(&p)...); len(names) > 0 {
		t.Errorf("named without a reason: %q", names)
	}
	m[eRefused][stSweep], p[3][1] = 0, 0
	names := append(emptyCells(&m), untaken(&p)...)
	if want := []string{"refused before append in state sweep", "sweep to open"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

// Every run goes both ways, with leave to ask and without.
func TestWithLeaveAndWithout(t *testing.T) {
	var told [2]uint64
	for k, asks := range []int{0, 31} {
		var s sim
		for seed := range uint64(mutantSeeds / 20) {
			sc := script{seed: seed, opt: swarm(seed)}
			sc.opt.Asks, sc.opt.Closed = asks, 0
			sc.opt.tame()
			if broken := sc.play(&s); broken != "" {
				t.Fatalf("asks=%d, seed %d: %s\n-sim.replay='%s'", asks, seed, broken, sc.String())
			}
		}
		told[k] = s.effects[eAsked]
		t.Logf("asks=%d: batches written %d, not written %d, unknown %d", asks, s.outcomes[written], s.outcomes[notWritten], s.outcomes[unknown])
	}
	if told[0] > 0 || told[1] == 0 {
		t.Errorf("%d questions without leave, %d with", told[0], told[1])
	}
}
