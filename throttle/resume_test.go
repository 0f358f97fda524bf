package throttle

import "testing"

// resumedAt is a window that goes on at a sequence, 100 being the offset behind
// what is known to be written, with these batches.
func resumedAt(t *testing.T, next Sequence, records ...int32) *script {
	t.Helper()
	s := &script{t: t, w: New()}
	s.step("resume at %d", next)
	s.w.Resume(7, 3, next, 100)
	s.bind(unlimited)
	s.admit(records...)
	return s
}

// knownAt is such a window after its first success: brokers know the epoch. The
// batches are numbered from 1.
func knownAt(t *testing.T, next Sequence, records ...int32) *script {
	t.Helper()
	s := &script{t: t, w: New()}
	s.step("resume at %d", next.Add(-1))
	s.w.Resume(7, 3, next.Add(-1), 99)
	s.bind(unlimited)
	s.admit(1)
	s.send(0)
	s.ok(0, 99)
	s.want("written 0 at 99")
	s.admit(records...)
	s.regate(true)
	return s
}

// former is a current broker that has records up to this sequence.
func former(last int32) Report { return Report{Known: true, Epoch: 3, Last: last, Current: true} }

func (s *script) read(first Sequence, records int32, offset int64) {
	s.t.Helper()
	s.get("read", func(w *Window) Resolution { return w.Read(3, first, records, offset) })
}

func (s *script) recut(last Sequence, left int32) {
	s.t.Helper()
	s.step("recut at %d", last)
	s.check("where to cut", s.w.Inside(last) == left)
	s.w.Recut(left)
}

func TestResumeWhereNothingWasLost(t *testing.T) {
	s := resumedAt(t, 50, 10, 10, 10)
	s.hear(former(49), FoundNothing)
	s.sendAs(0, 3, 50, true)
	s.hold(HoldGate)
	s.ok(0, 100)
	s.want("written 0 at 100")
	s.send(1, 2)
	s.ok(2, 120)
	s.want("written 1-2 at 110..120")
}

// The former process wrote batches 1 and 2 as one: they are not sent, and what
// the broker takes next proves them, far beyond its window.
func TestResumePassesOverWhatIsThere(t *testing.T) {
	s := knownAt(t, 50, 10, 10, 10, 10)
	s.bind(Limits{Sequences: 10, Batches: 1})
	s.hear(former(69), FoundPlace)
	s.sendAs(3, 3, 70, true)
	s.hold(HoldGate)
	s.ok(3, 120)
	s.want("written 1-3 at 100..120")
	s.sendAs(4, 3, 80, true)
}

func TestResumeInsideABatch(t *testing.T) {
	s := knownAt(t, 1<<31-4, 10, 10)
	s.hear(former(1<<31-1), FoundInside)
	s.recut(1<<31-1, 4)
	s.hear(former(1<<31-1), FoundPlace)
	s.sendAs(2, 3, 0, true)
	s.ok(2, 104)
	s.want("written 1-2 at 100..104")
	s.sendAs(3, 3, 6, true)
}

// A request of the former process arrives after the question.
func TestResumeAndAStraggler(t *testing.T) {
	s := knownAt(t, 50, 10, 10, 10)
	s.hear(former(49), FoundNothing)
	s.send(1)
	s.duplicate(1) // it wrote three records: "the last one and seven more" (KIP-758)
	s.send(2)      // nothing is believed: the next one has to prove it
	s.hold(HoldReplay)
	s.outOfOrder(2)
	s.want("drained, stalled")
	s.hear(former(52), FoundInside)
}

func TestResumeIsCutAnewAtAnyTime(t *testing.T) {
	s := knownAt(t, 50, 10, 10)
	s.send(1)
	s.outOfOrder(1)
	s.want("drained, stalled")
	s.hear(former(52), FoundInside)
	s.recut(52, 3)
	s.hear(former(52), FoundPlace)
	s.sendAs(2, 3, 53, false)
	s.ok(2, 103)
	s.want("written 1-2 at 100..103")
	s.sendAs(3, 3, 60, true)
}

// Nothing new is there to prove what the former process wrote.
func TestResumeReadsTheLog(t *testing.T) {
	s := resumedAt(t, 50, 10, 10, 10)
	s.hear(former(74), FoundAhead) // inside batch 2
	s.read(40, 10, 90)             // before
	s.want("")
	s.read(50, 5, 100)
	s.want("")
	s.read(55, 10, 105) // to the middle of batch 1
	s.want("written 0 at 100, drained")
	s.read(65, 10, 115)
	s.want("written 1 at 110, drained")
	s.hear(former(74), FoundInside)
	s.recut(74, 5)
	s.hear(former(74), FoundPlace) // reading proved something: brokers know the epoch
	s.send(3)
}

func TestResumeWithAllOfItThere(t *testing.T) {
	s := resumedAt(t, 50, 10, 10)
	s.hear(former(80), FoundAhead)
	s.read(50, 30, 100)
	s.want("written 0-1 at 100..110, drained")
	s.hear(former(80), FoundNothing) // nothing waits
	s.admit(10)
	s.hear(former(80), FoundAhead) // it has one record more, to come
}

// Among other producers an offset is only known where a batch lies in one piece.
func TestReadAmongOthers(t *testing.T) {
	s := resumedAt(t, 50, 10, 10, 10, 10, 10, 10, 10)
	s.read(50, 5, 100)
	s.read(55, 5, 200)
	s.want("written 0 at -1, drained")
	s.read(60, 5, 205) // right behind it, in two pieces
	s.read(65, 5, 210)
	s.want("written 1 at 205, drained")
	s.read(70, 10, 300) // in one piece, elsewhere
	s.want("written 2 at 300, drained")
	s.read(80, 5, 310)
	s.read(85, 5, 316)
	s.want("written 3 at -1, drained")
	s.read(105, 2, 400) // all of batch 4 was before this
	s.want("written 4 at -1, drained")
	s.read(107, 3, 402)
	s.want("written 5 at -1, drained")
	s.read(125, 1, 420)
	s.want("written 6 at -1, drained")
}

// A replay that was cut short goes on where it stopped, but not past what is
// new.
func TestRecutBeginsTheReplayAnew(t *testing.T) {
	s := knownAt(t, 50, 10, 10, 10)
	s.hear(former(69), FoundPlace)
	s.send(3)
	s.outOfOrder(3)
	s.want("drained")
	s.send(1)
	s.outOfOrder(1)
	s.send(2)
	s.outOfOrder(2)
	s.reconnect(unlimited)
	s.hear(former(54), FoundInside)
	s.recut(54, 5)
	s.send(1)
	s.outOfOrder(1)
	s.send(2)
	s.ok(2, 105)
	s.want("written 1-2 at 100..105")
}

func TestReadOfAnotherEpoch(t *testing.T) {
	s := resumedAt(t, 50, 10)
	s.get("read", func(w *Window) Resolution { return w.Read(2, 50, 10, 100) })
	s.want("")
}

// Read is for any window, but there only for what was written.
func TestReadByTheOnlyOwner(t *testing.T) {
	s := opened(t, unlimited, 10, 10)
	s.send(1)
	s.reconnect(unlimited)
	s.get("read", func(w *Window) Resolution { return w.Read(0, 1, 20, 100) })
	s.want("written 1 at 100, drained")
	s.sendAs(2, 0, 11, true)
}

// A hint that misled is not followed twice, but it is not lost either: the log
// tells.
func TestResumeAfterAHintThatMisled(t *testing.T) {
	s := knownAt(t, 50, 1, 1, 1, 1)
	s.hear(former(50), FoundPlace)
	s.send(2)
	s.outOfOrder(2)
	s.want("drained")
	s.hear(former(52), FoundAhead)
	s.send(1)
}

// A former process may write what was refused here, or was never sent.
func TestResumedIsNeverNotWritten(t *testing.T) {
	for name, give := range map[string]func(*Window) Resolution{
		"expire": (*Window).Expire, "disown": (*Window).Disown, "new log": (*Window).NewLog,
		"fence": (*Window).Fence, "abort": (*Window).Abort,
	} {
		t.Run(name, func(t *testing.T) {
			s := resumedAt(t, 50, 10, 10, 10)
			s.send(0)
			s.notAppended(0)
			s.want("drained")
			s.get(name, give)
			s.want("unknown 0-2, drained")
			s.admit(1)
			s.hold(HoldFenced)
			s.newID(9, 0, false)
		})
	}
}

func TestResumedKeepsItsEpoch(t *testing.T) {
	s := resumedAt(t, 50)
	s.do("state may be gone", (*Window).StateMayBeGone)
	s.newID(9, 0, false)
	s.hear(Report{Current: true}, FoundGone)
	s.hear(former(48), FoundLoss)
	s.hear(Report{Known: true, Epoch: 4, Last: -1}, FoundOther)
	s.admit(10)
	s.send(0)
	s.refuse(0) // it may be there already
	s.want("drained, stalled")
	s.sendAs(0, 3, 50, false)
}

func TestResumeIsForAWindowThatIsNotInUse(t *testing.T) {
	for name, f := range map[string]func(){
		"in use":       func() { opened(t, unlimited).w.Resume(1, 0, 0, -1) },
		"not resumed":  func() { opened(t, unlimited, 2).w.Recut(1) },
		"nothing left": func() { resumedAt(t, 50, 2).w.Recut(2) },
		"nothing":      func() { resumedAt(t, 50, 2).w.Recut(0) },
		"no batch":     func() { resumedAt(t, 50).w.Recut(1) },
		"outstanding": func() {
			s := resumedAt(t, 50, 2)
			s.send(0)
			s.w.Recut(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
