package e2e

import (
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/throttle"
)

// The brokers speak KIP-758: the window is learnt in the handshake and kept.
func wantWindow(t *testing.T, s producer.Stats, w int32) {
	t.Helper()
	if got := window(s); got != w {
		t.Errorf("window is %d, the broker names %d", got, w)
	}
	if d := deepest(s); d > w {
		t.Errorf("%d sequences were in flight, the window is %d", d, w)
	}
}

func TestKIP758SmallWindowWithCuts(t *testing.T) {
	s := open(t, 1000)
	r := s.produceTo("small", 4, 1, func(c *config.Config) { c.BatchBytes = 16 << 10 })
	stop := s.cutEvery(500 * time.Millisecond)
	r.produce(150_000, 20, 200, nil)
	t.Logf("%d connections cut", stop())
	stats := r.finish()
	wantWindow(t, stats, 1000)
	if stats.Throttled == 0 {
		t.Error("the window never held anything back")
	}
}

// After the restart the batches in doubt are in the log: all but the latest are
// answered DUPLICATE_SEQUENCE_NUMBER, which is dropped, and the latest with its
// offset.
func TestKIP758DuplicatesAreDropped(t *testing.T) {
	s := open(t, throttle.DefaultSequences)
	s.blind = true // else the replay begins at the latest, and none is met
	r := s.produceTo("duplicates", 1, 1, func(c *config.Config) { c.BatchBytes = 16 << 10 })
	const records = 100_000
	r.produce(records, 100, 100, func(i int) {
		switch i {
		case records / 4:
			r.written(1000)
			s.dropResponses(true)
		case records / 2:
			s.until("responses dropped", func() bool { return s.dropped() >= 5 })
			s.cutAll()
			s.dropResponses(false)
		}
	})
	stats := r.finish()
	wantWindow(t, stats, throttle.DefaultSequences)
	if stats.Duplicates == 0 {
		t.Error("no duplicate was met: the fault did not bite")
	}
}

func TestKIP758ResponsesDroppedThenRestart(t *testing.T) { droppedThenRestart(t, 1000) }
