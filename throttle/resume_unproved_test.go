package throttle

import "testing"

// Before its first success a resumed window counts on brokers that know nothing
// of the epoch: the partition is fresh, or was quiet for so long that they forgot
// it. Such a broker takes any batch as its first. So una goes alone, whatever
// happens, and nothing else may prove it.

// silent is a current broker that knows nothing, and would remember.
var silent = Report{Current: true, Remembers: true}

// freshLane is a lane in a partition in which it wrote nothing yet.
func freshLane(t *testing.T, records ...int32) *script {
	t.Helper()
	s := &script{t: t, w: New()}
	s.step("a fresh lane")
	s.w.Resume(7, 3, 0, -1)
	s.bind(unlimited)
	s.hear(silent, FoundNothing)
	s.admit(records...)
	return s
}

// quietLane is a lane that wrote a batch and was quiet for so long since that no
// broker may know it any more.
func quietLane(t *testing.T, records ...int32) *script {
	t.Helper()
	s := knownAt(t, 50, records...)
	s.do("state may be gone", (*Window).StateMayBeGone)
	return s
}

// unproved are windows that have a reason to count on brokers without state, and
// the sequence of una.
var unproved = map[string]struct {
	begin func(t *testing.T, records ...int32) *script
	base  Sequence
}{
	"fresh":          {freshLane, 0},
	"resumed":        {func(t *testing.T, records ...int32) *script { return resumedAt(t, 50, records...) }, 50},
	"quiet for long": {quietLane, 50},
}

// The first record is too large for the broker, say. The next one would be taken
// as the first, and the refused one reported as written.
func TestNothingVouchesBeforeTheFirstSuccess(t *testing.T) {
	for name, lane := range unproved {
		t.Run(name, func(t *testing.T) {
			s := lane.begin(t, 1, 1)
			una := s.w.State().Una
			for first := range 2 {
				s.sendAs(una, 3, lane.base, first == 0)
				s.hold(HoldGate)
				s.refuse(una)
				s.want("drained, stalled")
			}
		})
	}
}

// What una left in the log of a leader is gone when that one is deposed before
// the hint is followed, and leads again.
func TestNoHintIsFollowedBeforeTheFirstSuccess(t *testing.T) {
	for name, lane := range unproved {
		t.Run(name, func(t *testing.T) {
			s := lane.begin(t, 1, 1)
			una := s.w.State().Una
			s.send(una)
			s.reconnect(unlimited)
			s.hear(former(int32(lane.base)), FoundAhead)
			s.sendAs(una, 3, lane.base, false)
			s.hold(HoldGate)
		})
	}
}

// Nor does a replay go on behind una, when a batch was cut anew and so two are
// in doubt.
func TestNoReplayGoesOnBeforeTheFirstSuccess(t *testing.T) {
	s := freshLane(t, 2)
	s.send(0)
	s.outOfOrder(0)
	s.want("drained, stalled")
	s.hear(former(0), FoundInside)
	s.recut(0, 1)
	s.hear(silent, FoundNothing) // another leader
	s.send(0)
	s.refuse(0)
	s.want("drained, stalled")
	s.sendAs(0, 3, 0, false)
}

// A broker that knows nothing leads, or may come to lead, although another one
// gave a success.
func TestABrokerThatKnowsNothingIsRemembered(t *testing.T) {
	for name, r := range map[string]Report{
		"no entry": silent, "no entry, deposed": {}, "a lower epoch, deposed": {Known: true, Epoch: 2, Last: 5},
	} {
		t.Run(name, func(t *testing.T) {
			s := knownAt(t, 50, 1, 1)
			s.hear(r, FoundNothing)
			s.hear(former(50), FoundAhead)
		})
	}
}

// With old timestamps a success says nothing about what brokers will know.
func TestASuccessWithOldTimestampsProvesNoMemory(t *testing.T) {
	s := knownAt(t, 50, 1, 1, 1)
	s.do("caution", func(w *Window) { w.Caution(true) })
	s.hear(former(50), FoundAhead)
	s.send(1)
	s.ok(1, 100)
	s.want("written 1 at 100, drained")
	s.do("no caution", func(w *Window) { w.Caution(false) })
	s.hear(former(51), FoundAhead)
	s.send(2)
	s.ok(2, 101)
	s.want("written 2 at 101")
	s.regate(true)
	s.admit(1)
	s.hear(former(52), FoundPlace)
}

// Who would remember and knows nothing has nothing behind una: una goes there,
// alone. Who may have forgotten it would take una a second time.
func TestRemembers(t *testing.T) {
	fresh := func(t *testing.T) *script { return freshLane(t, 1, 1) }
	resumed := func(t *testing.T) *script { return resumedAt(t, 50, 1, 1) }
	sent := func(t *testing.T) *script {
		s := resumedAt(t, 50, 1, 1)
		s.send(0)
		s.reconnect(unlimited)
		return s
	}
	for _, tc := range []struct {
		name  string
		begin func(t *testing.T) *script
		r     Report
		want  Finding
	}{
		{"fresh", fresh, Report{Current: true, Remembers: true}, FoundNothing},
		{"fresh, it may have forgotten", fresh, Report{Current: true}, FoundGone},
		{"fresh, an older epoch", fresh, Report{Known: true, Epoch: 2, Last: 9, Current: true, Remembers: true}, FoundNothing},
		{"fresh, an older epoch, it may have forgotten", fresh, Report{Known: true, Epoch: 2, Last: 9, Current: true}, FoundNothing},
		{"resumed", resumed, Report{Current: true, Remembers: true}, FoundNothing},
		{"resumed, it may have forgotten", resumed, Report{Current: true}, FoundGone},
		{"resumed, it may have forgotten, deposed", resumed, Report{}, FoundNothing},
		{"resumed, an older epoch", resumed, Report{Known: true, Epoch: 2, Last: 9, Current: true, Remembers: true}, FoundLoss},
		{"in doubt", sent, Report{Current: true, Remembers: true}, FoundNothing},
		{"in doubt, it may have forgotten", sent, Report{Current: true}, FoundGone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := tc.begin(t)
			s.hear(tc.r, tc.want)
			s.send(0)
			s.hold(HoldGate)
		})
	}
}

// The only owner asks the log, whatever the broker would remember.
func TestRemembersIsForResumedWindows(t *testing.T) {
	s := opened(t, unlimited, 1)
	s.send(1)
	s.reconnect(unlimited)
	s.hear(silent, FoundGone)
}
