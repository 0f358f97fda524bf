package sim

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Every run depends on its seed alone. A long search, and one run again:
//
//	go test ./internal/sim -run TestSeeds -timeout 0 -args -sim.steps=1000000000
//	go test ./internal/sim -run TestOneRun -v -args -sim.seed=17
//	go test ./internal/sim -run TestOneRun -v -args -sim.replay='seed=17 brokers=3 ...'
var (
	stepsFlag   = flag.Uint64("sim.steps", 0, "steps of all runs together, 0 for the usual")
	fromFlag    = flag.Uint64("sim.from", 0, "the first seed")
	workersFlag = flag.Int("sim.workers", 0, "goroutines, 0 for one a processor")
	seedFlag    = flag.Int64("sim.seed", -1, "one seed to run again, with a trace")
	replayFlag  = flag.String("sim.replay", "", "what a failed run printed, to run again with a trace")
)

// search is what the workers of a search have in common.
type search struct {
	mu       sync.Mutex
	steps    uint64
	next     uint64
	most     uint64
	effects  Effects
	outcomes [4]uint64
	matrix   Matrix
	phases   Phases
	failed   []script
}

// take hands out the next seed, until there were steps enough.
func (f *search) take(s *sim) (seed uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps += uint64(s.steps)
	if s.broken != "" {
		f.failed = append(f.failed, script{seed: s.seed, opt: s.opt})
	}
	f.next++
	return f.next - 1, f.steps < f.most && len(f.failed) == 0
}

func (f *search) work() {
	var s sim
	for {
		seed, ok := f.take(&s)
		if !ok {
			break
		}
		s.run(seed, swarm(seed), nil, false)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.effects.Add(&s.effects)
	f.matrix.Add(&s.matrix)
	f.phases.Add(&s.phases)
	for i, n := range s.outcomes {
		f.outcomes[i] += n
	}
}

func TestSeeds(t *testing.T) {
	f := search{next: *fromFlag, most: *stepsFlag}
	if f.most == 0 {
		f.most = usualSteps
		if testing.Short() {
			f.most /= 10
		}
	}
	workers := *workersFlag
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	began := time.Now()
	var done sync.WaitGroup
	for range workers {
		done.Go(f.work)
	}
	done.Wait()
	for _, sc := range f.failed {
		var s sim
		broken := sc.play(&s)
		small := shrink(&s, sc)
		t.Errorf("seed %d: %s. Run it again, with %d faults:\n-sim.replay='%s'", sc.seed, broken, len(small.kept), small.String())
	}
	t.Logf("%d seeds, %d steps, %.2f million a second; batches written %d, not written %d, unknown %d",
		f.next-*fromFlag, f.steps, float64(f.steps)/1e6/time.Since(began).Seconds(), f.outcomes[written], f.outcomes[notWritten], f.outcomes[unknown])
	t.Log("faults, and in which state they bit:\n" + table(&f.effects, &f.matrix))
	t.Log("phases:\n" + f.phases.String())
	if n := found.Load(); n > 0 {
		t.Logf("%d of %d mutants found", n, len(gallery))
	}
	if f.most < 10_000_000 || t.Failed() {
		return
	}
	if missing := f.effects.Missing(); len(missing) > 0 {
		t.Errorf("faults without an effect, so that nothing is proven: %q", missing)
	}
	if missing := emptyCells(&f.matrix); len(missing) > 0 {
		t.Errorf("cells of the matrix that stayed empty: %q", missing)
	}
	if missing := untaken(&f.phases); len(missing) > 0 {
		t.Errorf("ways of the window that were not taken: %q", missing)
	}
}

// table is one line for each fault: how often it bit, and then in which states
// of a partition.
func table(c *Effects, m *Matrix) string {
	var b strings.Builder
	for e, n := range c {
		fmt.Fprintf(&b, "%10d  %s", n, effect(e))
		sep := ": "
		for t, n := range m[e] {
			if n > 0 {
				fmt.Fprintf(&b, "%s%s %d", sep, state(t), n)
				sep = ", "
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestOneRun(t *testing.T) {
	sc := script{seed: uint64(*seedFlag), opt: swarm(uint64(*seedFlag))}
	if *replayFlag != "" {
		var err error
		if sc, err = parseScript(*replayFlag); err != nil {
			t.Fatal(err)
		}
	} else if *seedFlag < 0 {
		t.Skip("neither -sim.seed nor -sim.replay")
	}
	s := sim{trace: func(line string) { fmt.Println(line) }}
	if broken := sc.play(&s); broken != "" {
		t.Error(broken)
	}
}

// A run must come out the same, or its seed is worth nothing.
func TestSameSeedSameRun(t *testing.T) {
	var fresh, used sim
	for seed := range uint64(30) {
		fresh = sim{}
		fresh.run(seed, swarm(seed), nil, false)
		before := used.effects
		used.run(seed, swarm(seed), nil, false)
		for e := range before {
			before[e] = used.effects[e] - before[e]
		}
		if fresh.steps != used.steps || fresh.now != used.now || fresh.effects != before {
			t.Fatalf("seed %d: %d steps to %d, and then %d to %d", seed, fresh.steps, fresh.now, used.steps, used.now)
		}
	}
}

// Playing all faults of a run from a list is the same run, and playing none
// finds nothing.
func TestScriptIsTheRun(t *testing.T) {
	for seed := range uint64(20) {
		var free, played, none sim
		free.run(seed, swarm(seed), nil, false)
		sc := script{seed: seed, opt: swarm(seed), only: true, kept: sortedCopy(free.hits)}
		again, err := parseScript(sc.String())
		if err != nil {
			t.Fatal(err)
		}
		if again.play(&played); played.steps != free.steps || played.effects != free.effects {
			t.Fatalf("seed %d: %d steps with chance, %d with a list", seed, free.steps, played.steps)
		}
		again.kept = nil
		if broken := again.play(&none); broken != "" {
			t.Fatalf("seed %d without faults: %s", seed, broken)
		}
	}
}

func TestScriptRefusesNonsense(t *testing.T) {
	for _, line := range []string{"seed=x", "brokers=", "oddity=1", "keep=cut-rst", "keep=rain/0/0", "keep=cut-rst/x/0", "keep=cut-rst/0/x"} {
		if _, err := parseScript(line); err == nil {
			t.Errorf("%s was taken", line)
		}
	}
}
