package throttle

import (
	"fmt"
	"slices"
	"testing"
)

func TestAbort(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1, 1)
	s.send(1, 2, 3)
	s.duplicate(1)
	s.get("abort", (*Window).Abort)
	s.want("not written 4, unknown 1-3, drained")
	s.hold(HoldFenced)
	end := s.w.State()
	s.check("nothing is left", end.Una == 5 && end.Nxt == 5 && end.Max == 5 && end.End == 5 && end.Outstanding == 0)
	s.newID(8, 0, false) // something is Unknown

	s = opened(t, unlimited, 1, 1, 1)
	s.send(1, 2)
	s.notAppended(1)
	s.get("abort", (*Window).Abort)
	s.want("not written 1-3, drained") // what is behind an absent batch is absent

	s = opened(t, unlimited, 1, 1)
	s.send(1)
	s.uncertain(1)
	s.want("drained")
	s.get("fence", (*Window).Fence)
	s.want("not written 2, unknown 1, drained")
	s.hold(HoldFenced)
}

// Nothing in doubt now, but before.
func TestAbortIsNoCalm(t *testing.T) {
	s := opened(t, unlimited, 1, 1)
	s.send(1)
	s.uncertain(1)
	s.want("drained")
	s.expire()
	s.want("unknown 1, drained")
	s.get("abort", (*Window).Abort)
	s.want("not written 2, drained")
	s.newID(8, 0, false)
}

// What is admitted to a fenced Window can still be given up.
func TestExpireFenced(t *testing.T) {
	s := opened(t, unlimited)
	s.get("fence", (*Window).Fence)
	s.want("drained")
	s.admit(1, 1)
	s.hold(HoldFenced)
	s.expire()
	s.want("not written 1, drained")
	s.expire()
	s.want("not written 2, drained")
	s.hold(HoldFenced)
}

func TestState(t *testing.T) {
	s := opened(t, Limits{Sequences: 100, Batches: 3}, 4, 5, 6)
	s.send(1, 2)
	s.duplicate(1)
	got, want := s.w.State(), State{
		Next: 10, Una: 1, Nxt: 3, Max: 3, End: 4, Sequences: 9, Outstanding: 1,
		Limits: Limits{Sequences: 100, Batches: 3}, Phase: "open", InDoubt: true,
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	s.check("3 waits", s.w.Pending())
	s.uncertain(2)
	s.want("drained")
	if got := s.w.State(); got.Nxt != 1 || got.Phase != "gate" || got.Outstanding != 0 {
		t.Errorf("after a drain: %+v", got)
	}
	if got := New().State(); got.ProducerID != -1 || got.Sequences != 0 || got.InDoubt {
		t.Errorf("new: %+v", got)
	}
	s = opened(t, unlimited)
	s.check("nothing waits, nothing is in flight", !s.w.Pending() && s.w.State().Sequences == 0)
}

func TestPhaseNames(t *testing.T) {
	got := []string{}
	for p := gate; p <= vouch; p++ {
		got = append(got, p.String())
	}
	if want := []string{"gate", "open", "drain", "sweep", "vouch"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// Room says what Peek would for a batch that is not admitted yet.
func TestRoom(t *testing.T) {
	s := opened(t, Limits{Sequences: 10, Batches: 2})
	room := func(records int32, want Hold) {
		t.Helper()
		if h := s.w.Room(records); h != want {
			s.fail("room for %d records: want %v, got %v", records, want, h)
		}
	}
	room(100, Ready) // with nothing before it, any batch may go
	s.admit(4)
	room(1, Ready) // batch 1 is first
	s.send(1)
	room(6, Ready)
	room(7, HoldSequences)
	s.admit(1)
	s.send(2)
	room(1, HoldBatches)
	s.admit(100)
	room(1, HoldSequences) // one is waiting already, and does not fit
	s.uncertain(1)
	room(1, HoldDrain)
	s.lost()
	s.want("drained")
	room(1, HoldNoBroker)
}

// Peek changes nothing.
func TestPeekIsALook(t *testing.T) {
	s := opened(t, unlimited, 1)
	before := s.w.State()
	for range 3 {
		if got, h := s.w.Peek(); h != Ready || got.Batch != 1 {
			s.fail("got %+v, %v", got, h)
		}
	}
	s.check("as before", s.w.State() == before)
}

// The ring grows while its contents lie across its end.
func TestRingGrows(t *testing.T) {
	s := start(t, unlimited)
	s.admit(1, 2, 3)
	s.send(0)
	s.ok(0, 0)
	s.want("written 0 at 0")
	s.send(1)
	s.ok(1, 1)
	s.want("written 1 at 1")
	s.send(2)
	for n := int32(4); n <= 40; n++ {
		s.admit(n)
	}
	base := Sequence(6)
	for b := uint64(3); b < 40; b++ {
		s.sendAs(b, 0, base, true)
		base = base.Add(int32(b) + 1)
	}
	s.hold(HoldEmpty)
	for b := uint64(2); b < 39; b++ {
		s.duplicate(b)
	}
	s.ok(39, -1)
	s.want("written 2-39 at -1")
}

// The places of batches that are resolved say nothing about those to come.
func TestOldPlacesInTheRing(t *testing.T) {
	for name, leave := range map[string]func(s *script){
		"in doubt": func(s *script) {
			s.uncertain(0)
			s.want("drained")
			s.expire()
			s.want("unknown 0, drained")
		},
		"refused": func(s *script) {
			s.refuse(0)
			s.want("drained, head refused")
			s.drop()
			s.want("not written 0, drained")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, unlimited)
			s.admit(1, 1, 1, 1)
			s.send(0)
			leave(s)
			for b := uint64(1); b < 4; b++ {
				s.send(b)
				s.ok(b, -1)
				s.want(fmt.Sprintf("written %d at -1", b))
			}
			s.check("the next place is that of batch 0", len(s.w.ring) == 4)
			s.check("nothing in doubt", !s.w.InDoubt())
			s.lost()
			s.want("drained")
			s.get("abort", (*Window).Abort)
			s.want("drained")
		})
	}
}

func TestRange(t *testing.T) {
	r := Range{From: 3, To: 5}
	if r.Len() != 2 || r.Has(2) || !r.Has(3) || !r.Has(4) || r.Has(5) {
		t.Errorf("%+v", r)
	}
}

func TestMisusePanics(t *testing.T) {
	settle := func(batch uint64) func(*Window) {
		return func(w *Window) { w.Settle(batch, Uncertain, -1) }
	}
	// Batches 1 to 4 fill the ring, so that 0 and 5 would be found there, too.
	for name, f := range map[string]func(w *Window){
		"bind":                   func(w *Window) { w.Bind(unlimited) },
		"unbind":                 (*Window).Unbind,
		"drop":                   func(w *Window) { w.Drop() },
		"split":                  func(w *Window) { w.Split(1, 1) },
		"disown":                 func(w *Window) { w.Disown() },
		"new log":                func(w *Window) { w.NewLog() },
		"an answer to the past":  settle(0),
		"an answer to nothing":   settle(5),
		"two answers":            func(w *Window) { settle(1)(w); settle(1)(w) },
		"an answer after a loss": func(w *Window) { w.Lost(); settle(1)(w) },
		"split what is in doubt": func(w *Window) { w.Lost(); w.Split(1, 1) },
	} {
		for _, sent := range [][]uint64{{1}, {1, 2, 3, 4}} {
			t.Run(fmt.Sprint(name, ", outstanding ", len(sent)), func(t *testing.T) {
				s := opened(t, unlimited, 1, 1, 1, 1)
				s.send(sent...)
				s.check("the ring is full", len(s.w.ring) == 4)
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				f(s.w)
			})
		}
	}
}
