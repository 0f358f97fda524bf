package throttle

import (
	"math"
	"testing"
)

func TestHoldReasons(t *testing.T) {
	s := &script{t: t, w: New()}
	s.hold(HoldEmpty)
	s.admit(1, 1, 1, 1)
	s.hold(HoldNoBroker)
	s.bind(Limits{Sequences: 2})
	s.hold(HoldNoID)
	s.newID(7, 0, true)
	s.send(0)
	s.hold(HoldGate)
	s.ok(0, 5)
	s.want("written 0 at 5")
	s.send(1, 2)
	s.hold(HoldSequences)
	s.uncertain(1)
	s.hold(HoldDrain)
	s.uncertain(2)
	s.want("drained")
	s.send(1)
	s.duplicate(1)
	s.send(2)
	s.hold(HoldReplay)
	s.ok(2, 7)
	s.want("written 1-2 at 6..7")
	s.do("unbind", (*Window).Unbind)
	s.hold(HoldNoBroker)
	s.bind(Limits{Batches: 1})
	s.send(3)
	s.ok(3, 8)
	s.want("written 3 at 8")
	s.admit(1, 1)
	s.send(4)
	s.hold(HoldBatches)
	s.get("fence", (*Window).Fence)
	s.want("not written 5, unknown 4, drained")
	s.hold(HoldFenced)
	s.admit(1)
	s.hold(HoldFenced)
	for h := Ready; h <= HoldFenced; h++ {
		if h.String() == "" {
			t.Errorf("hold %d has no name", h)
		}
	}
}

// The window of sequences moves with the oldest unresolved batch.
func TestAcksReleaseInOrder(t *testing.T) {
	s := opened(t, Limits{Sequences: 10}, 4, 4, 4, 4, 4)
	s.send(1, 2)
	s.hold(HoldSequences) // a third would end 12 records beyond the first
	s.ok(1, 100)
	s.want("written 1 at 100")
	s.send(3)
	s.hold(HoldSequences)
	s.ok(2, 104)
	s.want("written 2 at 104")
	s.send(4)
	s.ok(3, 108)
	s.want("written 3 at 108")
	s.sendAs(5, 0, 17, true)
	s.hold(HoldEmpty)
}

// The last record of a batch may be W-1 behind the first of una, not W.
func TestWindowIsExact(t *testing.T) {
	s := opened(t, Limits{Sequences: 10}, 4, 6, 1)
	s.send(1, 2)
	s.hold(HoldSequences)
	s = opened(t, Limits{Sequences: 10}, 4, 7)
	s.send(1)
	s.hold(HoldSequences)
}

func TestWindowOfOne(t *testing.T) {
	s := opened(t, Limits{Sequences: 1}, 1, 1)
	s.send(1)
	s.hold(HoldSequences)
	s.ok(1, 100)
	s.want("written 1 at 100")
	s.send(2)
}

// A batch that was cut for a larger window goes alone.
func TestWindowSmallerThanABatch(t *testing.T) {
	s := opened(t, Limits{Sequences: 3}, 10, 10, 1)
	s.send(1)
	s.hold(HoldSequences)
	s.ok(1, 100)
	s.want("written 1 at 100")
	s.send(2)
	s.hold(HoldSequences)
	s.ok(2, 110)
	s.want("written 2 at 110")
	s.send(3)
}

func TestCapOnBatches(t *testing.T) {
	s := opened(t, Limits{Batches: 3}, 1, 1, 1, 1, 1)
	s.send(1, 2, 3)
	s.hold(HoldBatches)
	s.ok(1, 100)
	s.want("written 1 at 100")
	s.send(4)
	s.hold(HoldBatches)
}

func TestLimitsOutOfRange(t *testing.T) {
	for _, n := range []int32{math.MinInt32, -1, 0, MaxWindow + 1, math.MaxInt32} {
		if got := (Limits{Sequences: n}).normal().Sequences; got != DefaultSequences {
			t.Errorf("window of %d: got %d", n, got)
		}
	}
	for _, n := range []int32{1, DefaultSequences, MaxWindow} {
		if got := (Limits{Sequences: n}).normal().Sequences; got != n {
			t.Errorf("window of %d: got %d", n, got)
		}
	}
}

// KAFKA-9199: the distance counts from una, though una has its answer and
// little is in flight. What the broker must still recognise is una.
func TestDistanceCountsFromUna(t *testing.T) {
	s := opened(t, Limits{Sequences: 3}, 1, 1, 1, 1)
	s.send(1, 2, 3)
	s.duplicate(1, 2)
	s.check("one in flight", s.w.Outstanding() == 1)
	s.hold(HoldSequences)
	s.ok(3, 102)
	s.want("written 1-3 at 100..102")
	s.send(4)

	s = opened(t, Limits{Batches: 2}, 1, 1, 1)
	s.send(1, 2)
	s.duplicate(1)
	s.hold(HoldBatches)
}

// A new leader may name a smaller window than what is in doubt.
func TestReplayIgnoresTheLimits(t *testing.T) {
	s := opened(t, unlimited, 5, 5, 5, 5, 5)
	s.send(1, 2, 3, 4)
	s.reconnect(Limits{Sequences: 1, Batches: 1})
	s.send(1)
	s.outOfOrder(1)
	s.send(2, 3, 4)
	s.hold(HoldReplay)
	s.outOfOrder(2)
	s.ok(3, 110)
	s.want("written 1-3 at 100..110")
	s.hold(HoldSequences) // batch 5 is new, and 4 is not settled
	s.ok(4, 115)
	s.want("written 4 at 115")
	s.send(5)
}
