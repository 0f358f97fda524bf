package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/realkafka"
)

// arena is three nodes on which every record is, and on two at least before it
// counts. Faults happen there one after another.
type arena struct {
	*stage
	rounds int
	tally  map[string]*tally
}

// tally is what came of one kind of fault.
type tally struct {
	struck, bit           int64
	rounds, records       int // with it, and read back after them
	lost, doubled         int
	swapped, wrong, false int
	unknown, notWritten   int
	deepest               int32
}

func openArena(t *testing.T, window int32) *arena {
	t.Helper()
	s := &stage{t: t}
	s.kafka = realkafka.Start(t, realkafka.Config{
		Nodes: 3, SequenceWindow: window, Advertise: s.proxy,
		Properties: map[string]string{
			"min.insync.replicas":                      "2",
			"broker.heartbeat.interval.ms":             "500",
			"broker.session.timeout.ms":                "3000",
			"replica.lag.time.max.ms":                  "3000",
			"auto.leader.rebalance.enable":             "false",
			"producer.id.expiration.check.interval.ms": "1000",
		},
	})
	for _, p := range s.proxies {
		p.Delay(arenaDelay)
	}
	t.Cleanup(s.rouse) // a node that sleeps when a test fails would not be stopped
	return &arena{stage: s, tally: map[string]*tally{}}
}

// arenaDelay is one way, so that there is something to be in flight.
const arenaDelay = 20 * time.Millisecond

// rouse lets all nodes run.
func (s *stage) rouse() {
	for node := range s.proxies {
		_ = s.kafka.Resume(node)
	}
}

// round has faults strike one producer one after the other, and judges it.
// Every other producer cannot ask brokers what they know of it.
func (a *arena) round(t *testing.T, rng *rand.Rand, set func(*config.Config), kinds ...fault) {
	s := a.on(t)
	s.blind = a.rounds%2 == 1
	topic := fmt.Sprintf("round-%d", a.rounds)
	a.rounds++
	partitions := int32(3)
	for _, f := range kinds {
		if f.before != nil {
			f.before(s)
		}
		if f.partitions > 0 {
			partitions = f.partitions
		}
	}
	l := s.busy(topic, partitions, func(c *config.Config) {
		for _, f := range append(kinds, fault{set: set}) {
			if f.set != nil {
				f.set(c)
			}
		}
	})
	t.Cleanup(s.rouse)
	for _, f := range kinds {
		l.honest = l.honest || f.honest
		l.deep()
		n := f.strike(l, rng)
		if n == 0 {
			t.Errorf("%s: it did not bite", f.name)
		}
		k := a.of(f.name)
		k.struck++
		k.bit += n
	}
	a.note(l, kinds)
}

func (a *arena) of(name string) *tally {
	if a.tally[name] == nil {
		a.tally[name] = &tally{}
	}
	return a.tally[name]
}

// note ends the load and notes the verdict for each kind of fault that it met.
func (a *arena) note(l *load, kinds []fault) {
	_, v := l.stop()
	names := []string{"all"}
	for _, f := range kinds {
		if !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	for _, name := range names {
		k := a.of(name)
		k.rounds++
		k.records += v.Read
		k.lost += v.Lost
		k.doubled += v.Doubled
		k.swapped += v.Swapped
		k.wrong += v.WrongOffset
		k.false += v.Ghosts + v.Corrupt + v.NoOutcome + v.TwoOutcomes
		k.unknown += v.Unknown
		k.notWritten += v.NotWritten
		k.deepest = max(k.deepest, l.deepest.Load())
	}
}

// report prints what came of all faults.
func (a *arena) report(t *testing.T) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "fault\tstruck\tbit\trounds\tread back\tlost\tdoubled\tswapped\twrong offset\tfalse outcome\tunknown\tnot written\tdeepest\t")
	row := func(name string) {
		k := a.of(name)
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, k.struck, k.bit, k.rounds, k.records,
			k.lost, k.doubled, k.swapped, k.wrong, k.false, k.unknown, k.notWritten, k.deepest)
	}
	for _, f := range faults {
		if a.tally[f.name] != nil {
			row(f.name)
			a.of("all").struck += a.of(f.name).struck
			a.of("all").bit += a.of(f.name).bit
		}
	}
	row("all")
	w.Flush()
	t.Logf("\n%s", text.String())
}
