package throttle

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	s := opened(t, unlimited, 10, 4, 4)
	s.send(1, 2, 3)
	s.refuse(1)
	s.outOfOrder(2, 3)
	s.want("drained, head refused")
	s.do("split 1 into 7 and 3", func(w *Window) { w.Split(7, 3) })
	s.check("one batch more", s.w.State().End == 5)
	s.sendAs(1, 1, 0, true)
	s.hold(HoldGate)
	s.ok(1, 100)
	s.want("written 1 at 100")
	s.sendAs(2, 1, 7, true)
	s.sendAs(3, 1, 10, true)
	s.sendAs(4, 1, 14, true)
	s.hold(HoldEmpty)
	s.check("numbering goes on", s.w.Admit(1) == 5)
}

// The ring has no room left when the split comes.
func TestSplitGrows(t *testing.T) {
	s := start(t, unlimited)
	s.admit(8, 2, 3, 4)
	s.check("the ring is full", len(s.w.ring) == 4)
	s.send(0)
	s.refuse(0)
	s.want("drained, head refused")
	s.do("split", func(w *Window) { w.Split(4, 4) })
	var got []int32
	for i := s.w.una; i < s.w.end; i++ {
		got = append(got, s.w.at(i).records)
	}
	s.check("4 4 2 3 4", slices.Equal(got, []int32{4, 4, 2, 3, 4}))
}

// K46: after 2147483647 comes 0, and a batch may straddle it.
func TestWrap(t *testing.T) {
	s := opened(t, Limits{Sequences: 20}, 10, 10, 1)
	s.w.next = 2147483640
	s.sendAs(1, 0, 2147483640, true)
	s.sendAs(2, 0, 2, true)
	s.hold(HoldSequences)
	s.check("20 sequences in flight", s.w.State().Sequences == 20)
	s.reconnect(Limits{Sequences: 20})
	s.sendAs(1, 0, 2147483640, false)
	s.outOfOrder(1)
	s.sendAs(2, 0, 2, false)
	s.ok(2, 110)
	s.want("written 1-2 at 100..110")
	s.sendAs(3, 0, 12, true)
}

// K53: look for a new producer ID in time; there is no epoch behind 32767.
func TestEpochsRunOut(t *testing.T) {
	s := start(t, unlimited)
	s.newID(7, renewEpoch-1, true)
	s.check("not yet", !s.w.NeedsProducerID())
	s.admit(1, 1, 1)
	bump := func() {
		b := s.w.State().Una
		s.send(b)
		s.refuse(b)
		s.want("drained, head refused")
		s.drop()
		s.want(fmt.Sprintf("not written %d, drained", b))
	}
	bump()
	s.check("30000", s.w.State().Epoch == 30000 && s.w.NeedsProducerID())
	s.newID(7, math.MaxInt16-1, true)
	bump()
	s.check("32767", s.w.State().Epoch == math.MaxInt16)
	s.hold(Ready)
	bump()
	s.admit(1)
	s.hold(HoldFenced)
	s.newID(8, 0, true)
	s.sendAs(3, 0, 0, true)
}

// A new producer ID does not fence the stragglers of the old one.
func TestNewProducerIDNeedsCalm(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1, 1)
	s.send(1)
	s.newID(8, 0, false) // outstanding
	s.uncertain(1)
	s.want("drained")
	s.check("not calm", !s.w.Calm())
	s.newID(8, 0, false) // in doubt
	s.expire()
	s.want("unknown 1, drained")
	s.check("not calm", !s.w.Calm())
	s.newID(8, 0, false) // Unknown since the last success
	s.send(2)
	s.ok(2, 100)
	s.want("written 2 at 100")
	s.check("calm", s.w.Calm())
	s.newID(8, 0, true)
	s.sendAs(3, 0, 0, true)
	s.hold(HoldGate)
}

func TestStateMayBeGone(t *testing.T) {
	gone := func(s *script) { s.t.Helper(); s.do("state may be gone", (*Window).StateMayBeGone) }
	t.Run("calm: a new epoch", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1)
		gone(s)
		s.sendAs(1, 1, 0, true)
		s.hold(HoldGate)
	})
	t.Run("in doubt: the gate", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1)
		s.send(1)
		s.uncertain(1)
		s.want("drained")
		gone(s)
		s.sendAs(1, 0, 1, false)
	})
	t.Run("outstanding: drain, and the gate", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1)
		s.send(1)
		gone(s)
		s.hold(HoldDrain)
		s.ok(1, 100)
		s.want("written 1 at 100, drained")
		s.sendAs(2, 0, 2, true)
	})
	t.Run("the epoch is unused: no other", func(t *testing.T) {
		s := start(t, unlimited)
		s.admit(1)
		gone(s)
		s.sendAs(0, 0, 0, true)
	})
	t.Run("no producer id", func(t *testing.T) {
		s := &script{t: t, w: New()}
		gone(s)
		s.check("epoch 0", s.w.State().Epoch == 0)
	})
}

func TestRegate(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1)
	s.send(1, 2)
	s.regate(false)
	s.hold(HoldDrain)
	s.ok(1, 100)
	s.want("written 1 at 100")
	s.hold(HoldDrain) // a success does not end the drain
	s.ok(2, 101)
	s.want("written 2 at 101, drained")
	s.send(3)
	s.hold(HoldEmpty)
}

// Records with old timestamps never get a window.
func TestCaution(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1, 1, 1)
	s.send(1)
	s.do("caution", func(w *Window) { w.Caution(true) })
	s.hold(HoldDrain)
	s.ok(1, 100)
	s.want("written 1 at 100, drained")
	for i := uint64(2); i < 4; i++ {
		s.send(i)
		s.hold(HoldGate)
		s.ok(i, 99+int64(i))
		s.want(fmt.Sprintf("written %d at %d, drained", i, 99+i))
	}
	s.do("no caution", func(w *Window) { w.Caution(false) })
	s.send(4)
	s.hold(HoldGate)
	s.ok(4, 103)
	s.want("written 4 at 103")
	s.admit(1)
	s.send(5, 6)
	s.do("no caution", func(w *Window) { w.Caution(false) }) // as before
	s.admit(1)
	s.send(7)
}

// Caution does not interrupt a replay.
func TestCautionInAReplay(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1, 1)
	s.send(1, 2, 3)
	s.reconnect(unlimited)
	s.send(1)
	s.outOfOrder(1)
	s.send(2)
	s.do("caution", func(w *Window) { w.Caution(true) })
	s.send(3)
	s.ok(2, 101)
	s.want("written 1-2 at 100..101")
	s.ok(3, 102)
	s.want("written 3 at 102, drained")
	s.send(4)
	s.hold(HoldEmpty)
}

// Where brokers refuse whatever comes with a producer ID, another one may be taken
// although something became Unknown under the old one.
func TestUnmappedProducerID(t *testing.T) {
	w := New()
	w.SetProducer(1, 0)
	w.Bind(Limits{})
	w.Admit(1)
	w.Commit()
	w.Settle(0, Uncertain, -1)
	if r := w.Disown(); r.Unknown.Len() != 1 || w.SetProducer(2, 0) {
		t.Fatalf("%+v: an ID is taken that fences no straggler", r)
	}
	w.Unmapped()
	if !w.SetProducer(2, 0) {
		t.Error("no other ID is taken")
	}
}
