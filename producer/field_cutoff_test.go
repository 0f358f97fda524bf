package producer_test

import (
	"testing"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"go.uber.org/atomic"
)

const apiVersionsKey = 18

// K63 and KIP-758: a broker that is cut off while it says what it speaks must
// not be taken for one that knows no window. Seen with a real cluster whose
// connections were cut once a second.
func TestCutOffHandshakeKeepsTheWindow(t *testing.T) {
	cc := topics(1)
	cc.SequenceWindow = 100
	r := newRig(t, cc, nil)
	var cuts atomic.Int32
	r.c.OnResponse(func(resp *producertest.Response) {
		// The first connection is that of the control loop.
		if resp.Request.Key() == apiVersionsKey && resp.Connection > 1 && cuts.Inc() <= 3 {
			resp.CutAfter = 0
		}
	})
	if err := r.p.Ping(t.Context()); err != nil { // batches are cut at the window from here on
		t.Fatal(err)
	}
	for range 5000 {
		r.produce(t.Context(), producer.Record{Topic: "t"}, 20)
	}
	if err := r.p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := r.p.Stats().Partitions[0]; s.Window != 100 || s.Deepest > 100 {
		t.Errorf("window %d, and %d sequences were in flight", s.Window, s.Deepest)
	}
	if cuts.Load() < 4 {
		t.Error("no handshake was cut off")
	}
	r.judge()
}
