package throttle

import (
	"math"
	"testing"
)

// K03: the deadline of a batch that has a sequence, in every phase.
func TestExpire(t *testing.T) {
	t.Run("empty", func(t *testing.T) {
		s := opened(t, unlimited)
		s.expire()
		s.want("")
	})
	t.Run("never written", func(t *testing.T) {
		s := opened(t, Limits{Sequences: 1}, 1, 1)
		s.do("unbind", (*Window).Unbind)
		s.expire()
		s.want("not written 1, drained")
		s.bind(unlimited)
		s.sendAs(2, 0, 1, true) // no sequence was used: the same epoch
	})
	t.Run("never written, and no new connection", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1)
		s.expire()
		s.want("not written 1, drained")
		s.sendAs(2, 0, 1, true)
	})
	t.Run("gate, outstanding", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1)
		s.regate(true)
		s.send(1)
		s.expire()
		s.want("") // an answer may still come
		s.hold(HoldDrain)
		s.ok(1, 100)
		s.want("written 1 at 100, drained")
	})
	t.Run("gate, absent", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1)
		s.regate(true)
		s.send(1)
		s.notAppended(1)
		s.want("drained")
		s.expire()
		s.want("not written 1, drained")
		s.sendAs(2, 1, 0, true)
	})
	t.Run("gate, absent, and a straggler behind it", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1, 1)
		s.send(1, 2)
		s.notAppended(1)
		s.lost()
		s.want("drained")
		s.expire()
		s.want("not written 1, drained")
		s.check("2 is absent, too", !s.w.InDoubt())
		s.bind(unlimited)
		s.sendAs(2, 1, 0, true)
		s.notAppended(2)
		s.want("drained")
		s.get("abort", (*Window).Abort)
		s.want("not written 2-3, drained")
	})
	t.Run("open, then lost", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1, 1, 1)
		s.send(1, 2, 3)
		s.expire()
		s.want("")
		s.hold(HoldDrain)
		s.lost()
		s.want("drained")
		s.expire()
		s.want("unknown 1-3, drained")
		s.bind(unlimited)
		s.sendAs(4, 1, 0, true) // the same producer id, the next epoch
	})
	t.Run("open, a duplicate before what is absent", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1, 1)
		s.send(1, 2, 3)
		s.duplicate(1)
		s.notAppended(2)
		s.expire()
		s.want("")
		s.outOfOrder(3)
		s.want("drained")
		s.expire()
		s.want("unknown 1, drained")
		s.sendAs(2, 1, 0, true)
	})
	t.Run("drain", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1)
		s.send(1, 2)
		s.uncertain(1)
		s.expire()
		s.want("")
		s.outOfOrder(2)
		s.want("drained")
		s.expire()
		s.want("unknown 1, drained")
		s.sendAs(2, 1, 0, true)
	})
	t.Run("sweep", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1, 1)
		s.send(1, 2, 3)
		s.reconnect(unlimited)
		s.send(1)
		s.outOfOrder(1)
		s.send(2)
		s.expire()
		s.want("")
		s.hold(HoldDrain)
		s.outOfOrder(2)
		s.want("drained")
		s.expire()
		s.want("unknown 1-3, drained")
	})
	t.Run("vouch", func(t *testing.T) {
		s := opened(t, unlimited, 1, 1, 1)
		s.send(1)
		s.reconnect(unlimited)
		s.send(1)
		s.duplicate(1)
		s.expire() // before the voucher is written: at once
		s.want("unknown 1, drained")
		s.sendAs(2, 1, 0, true)

		s = opened(t, unlimited, 1, 1, 1)
		s.send(1)
		s.reconnect(unlimited)
		s.send(1)
		s.duplicate(1)
		s.send(2)
		s.expire()
		s.want("")
		s.ok(2, 101)
		s.want("written 1-2 at 100..101, drained")
		s.send(3)
	})
}

// Disown, Drop and Expire go on with what is behind.
func TestDisown(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1)
	s.send(1, 2)
	s.lost()
	s.want("drained")
	s.get("disown", (*Window).Disown)
	s.want("unknown 1-2, drained")
	s.check("the next epoch", s.w.State().Epoch == 1 && !s.w.InDoubt())
	s.get("disown", (*Window).Disown) // nothing in doubt: a new epoch all the same
	s.want("drained")
	s.bind(unlimited)
	s.sendAs(3, 2, 0, true)

	s = opened(t, unlimited)
	s.get("disown", (*Window).Disown)
	s.want("drained")
	s.check("calm, for nothing is Unknown", s.w.Calm())
}

// A recreated topic is a new log: offsets begin anew, without an alarm.
func TestNewLog(t *testing.T) {
	s := opened(t, unlimited, 1, 1)
	s.send(1)
	s.uncertain(1)
	s.want("drained")
	s.get("new log", (*Window).NewLog)
	s.want("unknown 1, drained")
	s.sendAs(2, 1, 0, true)
	s.ok(2, 0)
	s.want("written 2 at 0")
}

// The new log does not know us, so it holds no straggler back: neither one behind
// a batch that is absent nor one of an earlier epoch.
func TestNewLogHoldsNoStragglerBack(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1, 1)
	s.send(1, 2)
	s.notAppended(1)
	s.lost()
	s.want("drained")
	s.get("new log", (*Window).NewLog)
	s.want("not written 1, unknown 2, drained")
	s.newID(8, 0, false) // only the epoch fences what was sent to the old log
	s.bind(unlimited)
	s.sendAs(3, 1, 0, true)
	s.ok(3, 0)
	s.want("written 3 at 0")
	s.newID(8, 0, true)

	s = opened(t, unlimited, 1, 1, 1, 1)
	s.send(1, 2, 3)
	s.notAppended(1)
	s.lost()
	s.want("drained")
	s.expire()
	s.want("not written 1, drained")
	s.get("new log", (*Window).NewLog)
	s.want("unknown 2-3, drained")
	s.bind(unlimited)
	s.sendAs(4, 2, 0, true)
}

// Another owner of the epoch may have filled the gap before what is in doubt.
func TestFenceTrustsNoGap(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1)
	s.send(1, 2)
	s.notAppended(1)
	s.lost()
	s.want("drained")
	s.get("fence", (*Window).Fence)
	s.want("not written 3, unknown 1-2, drained")
}

// Where no epoch is left, nothing of the last one stays behind.
func TestLastEpochEndsClean(t *testing.T) {
	last := func(records ...int32) *script {
		s := start(t, unlimited)
		s.newID(7, math.MaxInt16, true)
		s.admit(1)
		s.send(0)
		s.ok(0, 99)
		s.want("written 0 at 99")
		s.admit(records...)
		return s
	}
	s := last(1, 1, 1)
	s.send(1, 2)
	s.uncertain(1)
	s.uncertain(2)
	s.want("drained")
	s.expire()
	s.want("unknown 1-2, drained")
	s.check("una <= nxt", s.w.State().Nxt == 3 && s.w.State().Una == 3)
	s.hold(HoldFenced)

	s = last(1, 1, 1)
	s.send(1, 2)
	s.notAppended(1)
	s.lost()
	s.want("drained")
	s.expire()
	s.want("not written 1, drained")
	s.hold(HoldFenced)
	s.newID(8, 0, true) // what was in doubt behind an absent batch is absent
	s.bind(unlimited)
	s.sendAs(2, 0, 0, true)
}
