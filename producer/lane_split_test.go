package producer_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// A batch that is too large for the broker is sent in parts, in the same epoch.
func TestLaneSplitsWhatIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.MaxMessageBytes = 2000
		c := newCluster(t, cc)
		p := newProducer(t, c, nil)
		l := p.Lane()
		for i := range 500 {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		wantCount(t, c, 0, 500)
	})
}

// A split waits until nothing is outstanding. If the success of a later batch
// resolves the one that was too large meanwhile, the split is dropped with it:
// it must not cut whichever batch comes first by then.
func TestSplitIsDroppedOnceTheBatchIsResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, func(c *config.Config) { c.Linger, c.BatchBytes = 5*time.Millisecond, 100 })
		l := p.Lane()
		if _, err := l.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		first := true
		c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if first {
				first = false
				return producertest.AppendThen(10)
			}
			return producertest.Fault{}
		})
		for i := 1; i < 13; i++ {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Error(err)
		}
		wantCount(t, c, 0, 13)
	})
}

// The same comes about with honest brokers, where another process of the lane
// writes the same records in smaller batches while a large one is refused.
func TestSplitIsDroppedWhenAnotherProcessWroteTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.MaxMessageBytes = 200
		c := newCluster(t, cc)
		setting := func(n int) func(c *config.Config) {
			return func(c *config.Config) { c.Linger, c.BatchBytes = 5*time.Millisecond, n }
		}
		large := newProducer(t, c, setting(1<<14)).Lane()
		if _, err := large.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Fatal(err)
		}
		cp, err := large.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		small, err := newProducer(t, c, setting(1)).Resume(t.Context(), cp)
		if err != nil {
			t.Fatal(err)
		}
		hold, soon := make(chan struct{}), make(chan struct{})
		var n atomic.Int32
		c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.BaseSequence == 1 && a.Records > 1 && a.FirstTime() {
				return producertest.Hold(soon)
			}
			if a.BaseSequence == 40 && n.Add(1) == 1 {
				return producertest.Hold(hold)
			}
			return producertest.Fault{}
		})
		for i := 1; i < 40; i++ {
			large.Produce(t.Context(), numbered(i), nil)
		}
		if _, err := large.Mark(t.Context()); err != nil { // seals
			t.Fatal(err)
		}
		large.Produce(t.Context(), numbered(40), nil)
		time.Sleep(20 * time.Millisecond)
		close(soon)
		time.Sleep(20 * time.Millisecond)
		t.Log("held", n.Load())
		for i := 1; i < 40; i++ {
			small.Produce(t.Context(), numbered(i), nil)
		}
		if err := small.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(hold)
		_ = large.Flush(t.Context())
		t.Log(large.Err(), small.Err())
		wantCount(t, c, 0, 41)
	})
}
