package realkafka

import (
	"testing"

	"github.com/sluice-kafka/sluice/internal/brokermodel"
)

// What needs a clean restart of the broker; one serves all, for it takes
// seconds.

func TestStockAroundACleanRestart(t *testing.T) {
	testAroundRestart(t, stock.Get(t), brokermodel.Rules{}, outOfOrderSequence)
}

func TestTaughtAroundACleanRestart(t *testing.T) {
	testAroundRestart(t, taught.Get(t), brokermodel.Rules{Window: window}, duplicateSequence)
}

// testAroundRestart runs the tests against one flavour of broker, which answers
// with code to a batch that it has and of which it does not know where.
func testAroundRestart(t *testing.T, c *Cluster, rules brokermodel.Rules, code int16) {
	duel := newDuel(t, c, rules)
	t.Run("model agrees", duel.fight)
	memory := newLog(t, c, 1, nil)
	remembered := memory.fill(newProducer(t, c), 3, 2)
	replay := newReplay(t, c)

	check(t, c.Stop(0))
	check(t, c.Restart(0))

	t.Run("memory shrinks to one", func(t *testing.T) {
		l := memory.reopen(t)
		l.expect(appended(4), remembered[2])
		l.expect(refused(code), remembered[1])
	})
	t.Run("replay", func(t *testing.T) { replay.run(t, code) })
	duel.reload()
	t.Run("model agrees afterwards", duel.fight)
}

// reopen returns the log once its only node leads it again.
func (l log) reopen(t *testing.T) *log {
	t.Helper()
	l.t = t
	eventually(t, func() bool {
		_, err := l.cluster.nodes[0].endOffset(l.topic, l.partition)
		return err == nil
	})
	return l.at(0)
}

// replay is the one of Window: 300 batches that are in the log but taken for in
// doubt, a clean restart, then the oldest alone, then the others and ten new
// ones in one pipeline. Of the 300 all but the latest are refused.
type replay struct {
	log      *log
	producer int64
	inDoubt  []batch
}

func newReplay(t *testing.T, c *Cluster) *replay {
	t.Helper()
	r := &replay{log: newLog(t, c, 1, nil), producer: newProducer(t, c)}
	r.inDoubt = r.log.fill(r.producer, 300, 1)
	return r
}

func (r *replay) run(t *testing.T, code int16) {
	const fresh = 10
	l := r.log.reopen(t)
	latest := len(r.inDoubt) - 1
	l.expect(refused(code), r.inDoubt[0])

	again := r.inDoubt[1:]
	var want []verdict
	for range again[1:] {
		want = append(want, refused(code))
	}
	want = append(want, appended(int64(latest)))
	for i := range fresh {
		next := latest + 1 + i
		again = append(again, batch{producer: r.producer, first: int32(next), count: 1})
		want = append(want, appended(int64(next)))
	}
	l.write(again...)
	l.expectAnswers(want...)

	lies := l.read()
	if len(lies) != len(r.inDoubt)+fresh {
		t.Errorf("%d batches in the log, want %d", len(lies), len(r.inDoubt)+fresh)
	}
	for i, b := range lies {
		if b.first != int32(i) || b.offset != int64(i) {
			t.Errorf("batch %d has sequence %d at offset %d", i, b.first, b.offset)
		}
	}
}
