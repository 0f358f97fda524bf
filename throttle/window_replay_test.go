package throttle

import (
	"fmt"
	"testing"
)

// K07, KAFKA-15591: a broker without state takes any first sequence.
func TestGate(t *testing.T) {
	s := start(t, unlimited)
	s.admit(10, 10, 10, 1)
	s.send(0)
	s.hold(HoldGate)
	s.notAppended(0)
	s.want("drained")
	s.sendAs(0, 0, 0, false)
	s.hold(HoldGate)
	s.ok(0, 0)
	s.want("written 0 at 0")
	s.send(1, 2)
	s.ok(1, 10)
	s.want("written 1 at 10")
	s.ok(2, 20)
	s.want("written 2 at 20")

	for name, arm := range map[string]func(){
		"connection":     func() { s.reconnect(unlimited) },
		"broker":         func() { s.bind(unlimited) },
		"leader epoch":   func() { s.regate(true) },
		"producer id":    func() { s.newID(8, 0, true) },
		"producer epoch": func() { s.do("state may be gone", (*Window).StateMayBeGone) },
	} {
		arm()
		s.log = append(s.log, "a new "+name)
		s.admit(1, 1)
		next := s.w.State().Max
		s.send(next)
		s.hold(HoldGate)
		for ; next < s.w.State().End; next++ {
			if s.w.Outstanding() == 0 {
				s.send(next)
			}
			s.ok(next, -1)
			s.want(fmt.Sprintf("written %d at -1", next))
		}
	}
}

// K01: out of order behind a batch that failed is an echo, and no loss.
func TestOutOfOrderBehindAFailure(t *testing.T) {
	s := opened(t, unlimited, 10, 10, 10, 10, 10)
	s.send(1, 2, 3, 4, 5)
	s.notAppended(1)
	s.hold(HoldDrain)
	s.outOfOrder(2, 3, 4)
	s.hold(HoldDrain)
	s.outOfOrder(5)
	s.want("drained")
	s.do("unbind", (*Window).Unbind)
	s.bind(unlimited) // the new leader
	s.sendAs(1, 0, 1, false)
	s.hold(HoldGate)
	s.ok(1, 100)
	s.want("written 1 at 100")
	for i := uint64(2); i <= 5; i++ {
		s.sendAs(i, 0, Sequence(10*i-9), false)
	}
}

// K02: after a lost answer nothing is known.
func TestLostAnswers(t *testing.T) {
	t.Run("the broker had nothing", func(t *testing.T) {
		s := opened(t, unlimited, 10, 10)
		s.send(1, 2)
		s.reconnect(unlimited)
		s.check("in doubt", s.w.InDoubt())
		s.sendAs(1, 0, 1, false)
		s.hold(HoldGate)
		s.ok(1, 100)
		s.want("written 1 at 100")
		s.sendAs(2, 0, 11, false)
		s.ok(2, 110)
		s.want("written 2 at 110")
	})
	t.Run("the broker had the first and says so", func(t *testing.T) {
		s := opened(t, unlimited, 10, 10)
		s.send(1, 2)
		s.reconnect(unlimited)
		s.send(1)
		s.duplicate(1) // not a success: what lies on one replica may be truncated
		s.send(2)
		s.ok(2, 110)
		s.want("written 1-2 at 100..110")
	})
}

// K06: what is sent again comes before what is new.
func TestResendsComeFirst(t *testing.T) {
	s := opened(t, unlimited, 1)
	s.send(1)
	s.notAppended(1)
	s.want("drained")
	s.admit(1, 1)
	s.send(1)
	s.ok(1, 100)
	s.want("written 1 at 100")
	s.send(2, 3)
}

func TestReplayPassesRefusalsOver(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1, 1, 1, 1)
	s.send(1, 2, 3, 4, 5)
	s.reconnect(unlimited)
	s.send(1)
	s.outOfOrder(1) // the broker remembers one batch only, and is further on
	s.send(2, 3, 4, 5)
	s.hold(HoldReplay) // 6 has never been sent
	s.outOfOrder(2)
	s.refuse(3) // decided before the broker looks for duplicates
	s.duplicate(4)
	s.ok(5, 104)
	s.want("written 1-5 at 100..104")
	s.send(6)
}

// A success amid a replay opens the window at once.
func TestFirstSuccessEndsTheReplay(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1, 1)
	s.send(1, 2, 3)
	s.reconnect(unlimited)
	s.send(1)
	s.outOfOrder(1)
	s.send(2)
	s.ok(2, 101)
	s.want("written 1-2 at 100..101")
	s.send(3, 4)
	s.outOfOrder(3) // and from here on a refusal is a fault again
	s.hold(HoldDrain)
}

func TestReplayRefusedFromEndToEnd(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1, 1)
	s.send(1, 2, 3)
	s.reconnect(unlimited)
	for range 2 {
		s.send(1)
		s.outOfOrder(1)
		s.send(2, 3)
		s.outOfOrder(2, 3)
		s.want("drained, stalled")
	}
}

// Frequent cuts must not starve a long replay: it goes on where it was cut.
func TestReplayCutShortGoesOn(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1, 1, 1)
	s.send(1, 2, 3, 4, 5)
	s.reconnect(unlimited)
	s.send(1)
	s.outOfOrder(1)
	s.send(2, 3)
	s.outOfOrder(2, 3)
	s.reconnect(unlimited)
	s.send(1)
	s.outOfOrder(1) // una is asked first each time
	s.send(4, 5)
	s.outOfOrder(4, 5)
	s.want("drained, stalled")
	s.send(1)
	s.outOfOrder(1)
	s.send(2) // a whole replay begins at the front again
}

// Where it was cut counts for one replay, not for what comes after a success.
func TestSuccessForgetsWhereTheReplayWasCut(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1, 1, 1)
	s.send(1, 2, 3, 4, 5)
	s.reconnect(unlimited)
	s.send(1)
	s.outOfOrder(1)
	s.send(2, 3)
	s.outOfOrder(2, 3)
	s.reconnect(unlimited)
	s.send(1)
	s.ok(1, 100)
	s.want("written 1 at 100")
	s.reconnect(unlimited)
	s.send(2)
	s.outOfOrder(2)
	s.send(3)
}

// A broker that answers DUPLICATE even for the latest batch.
func TestNewBatchVouches(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1, 1)
	s.send(1, 2)
	s.reconnect(unlimited)
	s.send(1)
	s.duplicate(1)
	s.send(2)
	s.duplicate(2)
	s.sendAs(3, 0, 3, true)
	s.hold(HoldReplay) // alone
	s.ok(3, 102)
	s.want("written 1-3 at 100..102")
	s.send(4)
}

// A voucher that did not get through is one more in doubt.
func TestVoucherInDoubt(t *testing.T) {
	t.Run("not written", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1, 1)
		s.send(1, 2)
		s.reconnect(unlimited)
		s.send(1)
		s.duplicate(1)
		s.send(2)
		s.duplicate(2)
		s.reconnect(unlimited)
		s.send(1)
		s.duplicate(1)
		s.send(2) // everything was passed over: from the front
	})
	t.Run("refused as known", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1, 1)
		s.send(1, 2)
		s.reconnect(unlimited)
		s.send(1)
		s.duplicate(1)
		s.send(2)
		s.duplicate(2)
		s.send(3)
		s.duplicate(3)
		s.want("drained, stalled")
		s.send(1)
		s.duplicate(1)
		s.send(2, 3)
		s.duplicate(2)
		s.ok(3, 102)
		s.want("written 1-3 at 100..102")
	})
}

func TestNobodyVouches(t *testing.T) {
	t.Run("the latest is missing", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1, 1)
		s.send(1, 2)
		s.reconnect(unlimited)
		s.send(1)
		s.duplicate(1)
		s.send(2)
		s.outOfOrder(2)
		s.want("drained, stalled")
	})
	t.Run("no success in this epoch", func(t *testing.T) {
		s := start(t, unlimited)
		s.admit(1, 1)
		s.send(0)
		s.reconnect(unlimited)
		s.send(0)
		s.duplicate(0)
		s.want("drained, stalled")
	})
	t.Run("no success since the epoch changed", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1)
		s.do("state may be gone", (*Window).StateMayBeGone)
		s.send(1)
		s.reconnect(unlimited)
		s.send(1)
		s.duplicate(1)
		s.want("drained, stalled")
	})
	t.Run("nothing new", func(t *testing.T) {
		s := opened(t, unlimited, 1)
		s.send(1)
		s.reconnect(unlimited)
		s.send(1)
		s.duplicate(1)
		s.want("drained, stalled")
	})
	t.Run("beyond the window", func(t *testing.T) {
		s := opened(t, Limits{Sequences: 1}, 1, 1)
		s.send(1)
		s.reconnect(Limits{Sequences: 1})
		s.send(1)
		s.duplicate(1)
		s.want("drained, stalled")
	})
	t.Run("the new one is refused", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1)
		s.send(1)
		s.reconnect(unlimited)
		s.send(1)
		s.duplicate(1)
		s.send(2)
		s.outOfOrder(2)
		s.want("drained, stalled")
		s.check("still in doubt", s.w.InDoubt())
	})
}

// A batch that is absent, but was numbered, vouches beyond the window: it is no
// first write.
func TestAbsentBatchVouches(t *testing.T) {
	s := opened(t, Limits{Sequences: 2}, 1, 1, 1)
	s.send(1, 2)
	s.uncertain(1)
	s.notAppended(2)
	s.want("drained")
	s.bind(Limits{Sequences: 1})
	s.send(1)
	s.duplicate(1)
	s.sendAs(2, 0, 2, false)
	s.hold(HoldReplay)
	s.ok(2, 101)
	s.want("written 1-2 at 100..101")
}

func TestRefusedForGood(t *testing.T) {
	s := opened(t, unlimited, 10, 10, 10)
	s.send(1, 2, 3)
	s.refuse(1)
	s.hold(HoldDrain)
	s.outOfOrder(2, 3)
	s.want("drained, head refused")
	s.drop()
	s.want("not written 1, drained")
	s.sendAs(2, 1, 0, true) // its sequences were used: a new epoch, and the gate
	s.hold(HoldGate)
	s.ok(2, 100)
	s.want("written 2 at 100")
	s.sendAs(3, 1, 10, true)
}

// A definite refusal of a batch behind others waits for its turn.
func TestRefusedBehindOthers(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1)
	s.send(1, 2, 3)
	s.ok(1, 100)
	s.want("written 1 at 100")
	s.duplicate(2)
	s.refuse(3)
	s.want("drained")
	s.send(2)
	s.ok(2, 101)
	s.want("written 2 at 101")
	s.send(3)
	s.refuse(3)
	s.want("drained, head refused")
}

// A refusal of this attempt says nothing about the one that was lost.
func TestRefusedInDoubt(t *testing.T) {
	s := opened(t, unlimited, 1)
	s.send(1)
	s.reconnect(unlimited)
	s.send(1)
	s.refuse(1)
	s.want("drained, stalled")
	s.check("still in doubt", s.w.InDoubt())
	s.expire()
	s.want("unknown 1, drained")
}

// Refused, and sent again before the owner dropped it: no longer refused.
func TestRefusalIsForgottenWhenSentAgain(t *testing.T) {
	s := opened(t, unlimited, 1)
	s.send(1)
	s.refuse(1)
	s.want("drained, head refused")
	s.send(1)
	s.notAppended(1)
	s.want("drained")
}

// Nothing in doubt, and the broker does not know where we are.
func TestOutOfOrderWithNothingInDoubt(t *testing.T) {
	s := opened(t, unlimited, 5, 5)
	s.regate(true)
	s.send(1)
	s.outOfOrder(1)
	s.want("stalled")
	s.sendAs(1, 1, 0, true)
	s.ok(1, 100)
	s.want("written 1 at 100")
	s.sendAs(2, 1, 5, true)
}

// A success behind a batch that is absent: the broker had forgotten us.
func TestAlarmGap(t *testing.T) {
	s := opened(t, unlimited, 1, 1)
	s.send(1, 2)
	s.notAppended(1)
	s.ok(2, 100)
	s.want("unknown 1, written 2 at 100, drained, alarm gap")
	s.hold(HoldEmpty)
}

// What is behind an absent batch cannot be in the log either, and is no doubt.
func TestAbsentHeadEndsDoubt(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1)
	s.send(1, 2, 3)
	s.notAppended(1)
	s.lost()
	s.want("drained")
	s.check("nothing in doubt", !s.w.InDoubt())
	s.bind(unlimited)
	s.send(1)
	s.reconnect(unlimited) // now it is, and so are those behind it
	s.send(1)
	s.duplicate(1)
	s.send(2, 3)
	s.hold(HoldEmpty)
	s.outOfOrder(2, 3)
	s.want("drained, stalled")
}
