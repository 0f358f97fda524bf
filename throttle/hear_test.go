package throttle

import (
	"math"
	"testing"
)

// hear tells the window what the broker said.
func (s *script) hear(r Report, want Finding) {
	s.t.Helper()
	s.step("hear %+v", r)
	if got := s.w.Hear(r); got != want {
		s.fail("want to find %v, found %v", want, got)
	}
}

// lastIs is a current broker that has records up to this sequence in epoch 0.
func lastIs(last int32) Report { return Report{Known: true, Last: last, Current: true} }

func TestAHintSavesTheReplayItsFront(t *testing.T) {
	s := opened(t, unlimited, 10, 10, 10, 10)
	s.send(1, 2, 3)
	s.reconnect(unlimited)
	s.hear(lastIs(20), FoundPlace)
	s.sendAs(2, 0, 11, false)
	s.hold(HoldGate)
	s.ok(2, 110)
	s.want("written 1-2 at 100..110")
	s.send(3, 4)
}

// The broker is not where it said: una goes first after all, and what the
// broker says counts for nothing until something succeeded.
func TestAHintThatMisleads(t *testing.T) {
	for name, fail := range map[string]func(s *script){
		"out of order": func(s *script) { s.outOfOrder(3) },
		"duplicate":    func(s *script) { s.duplicate(3) },
		"refused":      func(s *script) { s.refuse(3) },
		"not appended": func(s *script) { s.notAppended(3) },
		"uncertain":    func(s *script) { s.uncertain(3) },
		"lost":         (*script).lost,
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t, unlimited, 10, 10, 10)
			s.send(1, 2, 3)
			s.reconnect(unlimited)
			s.hear(lastIs(30), FoundPlace)
			s.send(3)
			fail(s)
			s.want("drained")
			if name == "lost" {
				s.bind(unlimited)
			}
			s.hear(lastIs(30), FoundNothing)
			s.send(1)
			s.ok(1, 100)
			s.want("written 1 at 100")
			s.send(2, 3)
			s.reconnect(unlimited)
			s.hear(lastIs(30), FoundPlace)
		})
	}
}

// A report belongs to one connection at one moment.
func TestAHintThatIsOutOfDate(t *testing.T) {
	for name, void := range map[string]func(s *script){
		"another connection": func(s *script) { s.reconnect(unlimited) },
		"a new leader epoch": func(s *script) { s.regate(true) },
		"a later report":     func(s *script) { s.hear(lastIs(0), FoundNothing) },
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t, unlimited, 10, 10)
			s.send(1, 2)
			s.reconnect(unlimited)
			s.hear(lastIs(20), FoundPlace)
			void(s)
			s.send(1)
		})
	}
}

func TestHear(t *testing.T) {
	stale := func(r Report) Report { r.Current = false; return r }
	// Batches 1 to 3 of ten records each are in doubt, batch 4 was refused as
	// not appended, and batch 5 is in doubt behind it.
	inDoubt := func(t *testing.T) *script {
		s := opened(t, unlimited, 10, 10, 10, 10, 10, 10)
		s.send(1, 2, 3, 4, 5)
		s.uncertain(1, 2, 3)
		s.notAppended(4)
		s.uncertain(5)
		s.want("drained")
		return s
	}
	fresh := func(t *testing.T) *script { // nothing was ever acknowledged
		s := start(t, unlimited)
		s.admit(10, 10)
		s.send(0)
		s.reconnect(unlimited)
		return s
	}
	for _, tc := range []struct {
		name  string
		setup func(*testing.T) *script
		Report
		want Finding
	}{
		{"where we are", inDoubt, lastIs(0), FoundNothing},
		{"where una ends", inDoubt, lastIs(10), FoundNothing},
		{"further", inDoubt, lastIs(20), FoundPlace},
		{"further, by a zombie", inDoubt, stale(lastIs(20)), FoundPlace},
		{"all in doubt", inDoubt, lastIs(30), FoundPlace},
		{"what is absent", inDoubt, lastIs(40), FoundNothing},
		{"behind what is absent", inDoubt, lastIs(50), FoundNothing},
		{"inside a batch", inDoubt, lastIs(15), FoundOther},
		{"ahead", inDoubt, lastIs(51), FoundOther},
		{"ahead, by a zombie", inDoubt, stale(lastIs(51)), FoundOther},
		{"a higher epoch", inDoubt, Report{Known: true, Epoch: 1, Last: -1}, FoundOther},
		{"an epoch beyond 16 bits", inDoubt, Report{Known: true, Epoch: 1 << 16, Last: 0}, FoundOther},
		{"behind", inDoubt, lastIs(math.MaxInt32), FoundLoss},
		{"behind, by a zombie", inDoubt, stale(lastIs(math.MaxInt32)), FoundNothing},
		{"no record", inDoubt, lastIs(-1), FoundLoss},
		{"no record, by a zombie", inDoubt, stale(lastIs(-1)), FoundNothing},
		{"a lower epoch", inDoubt, Report{Known: true, Epoch: -1, Current: true}, FoundLoss},
		{"a lower epoch, by a zombie", inDoubt, Report{Known: true, Epoch: -1}, FoundNothing},
		{"no entry", inDoubt, Report{Current: true}, FoundGone},
		{"no entry, by a zombie", inDoubt, Report{}, FoundNothing},

		{"first: no entry", fresh, Report{Current: true}, FoundNothing},
		{"first: no record", fresh, lastIs(-1), FoundNothing},
		{"first: a lower epoch", fresh, Report{Known: true, Epoch: -1, Current: true}, FoundNothing},
		{"first: where una ends", fresh, lastIs(9), FoundNothing},
		{"first: inside una", fresh, lastIs(8), FoundOther},
		{"first: ahead", fresh, lastIs(10), FoundOther},
		{"first: far ahead", fresh, lastIs(math.MaxInt32), FoundOther},

		{"nothing written: where we are", func(t *testing.T) *script {
			s := opened(t, unlimited)
			s.regate(true)
			return s
		}, lastIs(0), FoundNothing},
		{"nothing written: ahead", func(t *testing.T) *script {
			s := opened(t, unlimited)
			s.regate(true)
			return s
		}, lastIs(1), FoundOther},

		{"open", func(t *testing.T) *script { return opened(t, unlimited) }, lastIs(1), FoundNothing},
		{"no connection", func(t *testing.T) *script {
			s := opened(t, unlimited)
			s.do("unbind", (*Window).Unbind)
			return s
		}, lastIs(1), FoundNothing},
		{"no producer id", func(t *testing.T) *script {
			s := &script{t: t, w: New()}
			s.bind(unlimited)
			return s
		}, lastIs(1), FoundNothing},
		{"outstanding", func(t *testing.T) *script {
			s := inDoubt(t)
			s.send(1)
			return s
		}, lastIs(20), FoundNothing},
		{"fenced", func(t *testing.T) *script {
			s := opened(t, unlimited)
			s.get("fence", (*Window).Fence)
			s.want("drained")
			s.bind(unlimited)
			return s
		}, lastIs(1), FoundNothing},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.setup(t).hear(tc.Report, tc.want) })
	}
}

func TestHearAcrossTheWrap(t *testing.T) {
	s := opened(t, unlimited, 10, 10, 10)
	s.w.next = 1<<31 - 15 // as if so much had been written
	s.send(1, 2, 3)       // 2 straddles the wrap
	s.reconnect(unlimited)
	s.hear(lastIs(math.MaxInt32-15), FoundNothing)
	s.hear(lastIs(math.MaxInt32-16), FoundLoss)
	s.hear(lastIs(math.MaxInt32), FoundOther) // inside 2
	s.hear(lastIs(15), FoundOther)
	s.hear(lastIs(14), FoundPlace)
	s.hear(lastIs(4), FoundPlace)
	s.sendAs(2, 0, 1<<31-5, false)
}

func TestSeenInTheLog(t *testing.T) {
	s := opened(t, unlimited, 10, 10, 10, 10)
	s.send(1, 2, 3)
	s.reconnect(unlimited)
	i, ok := s.w.Find(0, 11)
	s.check("batch 2 begins at 11", ok && i == 2)
	s.get("seen 2", func(w *Window) Resolution { return w.Seen(2, 110) })
	s.want("written 1-2 at 100..110, drained")
	s.send(3) // no broker has answered for it
	s.hold(HoldGate)
	s.ok(3, 120)
	s.want("written 3 at 120")
	s.send(4)
}

// Between the last success and what was read someone else wrote.
func TestSeenAmongOthers(t *testing.T) {
	s := opened(t, unlimited, 10, 10)
	s.send(1, 2)
	s.reconnect(unlimited)
	s.get("seen 2", func(w *Window) Resolution { return w.Seen(2, 111) })
	s.want("written 1-2 at -1..111, drained")
}

// The log holds the first batch of the epoch, and the broker forgot the
// producer all the same: the next epoch.
func TestSeenMakesTheEpochKnown(t *testing.T) {
	s := start(t, unlimited)
	s.admit(10, 10)
	s.send(0)
	s.reconnect(unlimited)
	s.get("seen 0", func(w *Window) Resolution { return w.Seen(0, 5) })
	s.want("written 0 at 5, drained")
	s.hear(Report{Current: true}, FoundGone)
	s.do("state may be gone", (*Window).StateMayBeGone)
	s.sendAs(1, 1, 0, true)
}

func TestSeenIsForWhatWasWritten(t *testing.T) {
	mustPanic := func(name string, f func()) {
		t.Helper()
		defer func() {
			t.Helper()
			if recover() == nil {
				t.Error("no panic:", name)
			}
		}()
		f()
	}
	s := opened(t, unlimited, 1, 1)
	mustPanic("resolved", func() { s.w.Seen(0, 0) })
	mustPanic("never written", func() { s.w.Seen(1, 0) })
	s.send(1)
	mustPanic("outstanding", func() { s.w.Seen(1, 0) })
}

func TestFind(t *testing.T) {
	s := opened(t, unlimited, 10, 10, 10)
	s.w.next = 1<<31 - 15
	if _, ok := s.w.Find(0, 1<<31-15); ok {
		t.Error("found what was never written")
	}
	s.send(1, 2)
	for _, tc := range []struct {
		epoch int16
		base  Sequence
		want  uint64 // 0: none
	}{
		{0, 1<<31 - 15, 1},
		{0, 1<<31 - 5, 2},
		{0, 5, 0},          // 3 is not written
		{0, 1<<31 - 4, 0},  // inside 2
		{0, 1<<31 - 16, 0}, // before
		{0, 0, 0},
		{1, 1<<31 - 15, 0},
		{-1, 1<<31 - 5, 0},
	} {
		if i, ok := s.w.Find(tc.epoch, tc.base); i != tc.want && ok || ok != (tc.want > 0) {
			t.Errorf("Find(%d, %d) = %d, %v", tc.epoch, tc.base, i, ok)
		}
	}
}
