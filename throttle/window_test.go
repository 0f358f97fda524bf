package throttle

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// script drives one Window step by step. It writes down what it does, so that
// a test that fails prints a script to read. What a step resolved must be
// claimed by want before the next step.
type script struct {
	t    *testing.T
	w    *Window
	log  []string
	open string // what the last step resolved, until it is claimed
}

// start is a Window with producer ID 0, which is one like any other, epoch 0,
// and a connection.
func start(t *testing.T, l Limits) *script {
	t.Helper()
	s := &script{t: t, w: New()}
	s.newID(0, 0, true)
	s.bind(l)
	return s
}

// opened is a Window whose gate is open: batch 0, of one record, is written at
// offset 99, so that batch 1 has sequence 1 and belongs at offset 100. The
// others are admitted with the given numbers of records.
func opened(t *testing.T, l Limits, records ...int32) *script {
	t.Helper()
	s := start(t, l)
	s.admit(1)
	s.send(0)
	s.ok(0, 99)
	s.want("written 0 at 99")
	s.admit(records...)
	return s
}

func (s *script) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s\nthe script:\n  %s\n%+v", fmt.Sprintf(format, args...), strings.Join(s.log, "\n  "), s.w.State())
}

func (s *script) step(format string, args ...any) {
	s.t.Helper()
	if s.open != "" {
		s.fail("nobody asked for what happened before %q: %s", fmt.Sprintf(format, args...), s.open)
	}
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *script) resolved(r Resolution) {
	if s.open = describe(r); s.open != "" {
		s.log = append(s.log, "    -> "+s.open)
	}
}

// describe says in words what was decided, "" for nothing.
func describe(r Resolution) string {
	var d []string
	add := func(what string, g Range) {
		switch g.Len() {
		case 0:
			return
		case 1:
			d = append(d, fmt.Sprintf("%s %d", what, g.From))
		default:
			d = append(d, fmt.Sprintf("%s %d-%d", what, g.From, g.To-1))
		}
	}
	add("not written", r.NotWritten)
	add("unknown", r.Unknown)
	add("written", r.Written)
	switch {
	case r.Written.Len() == 0:
	case r.FirstOffset == r.LastOffset:
		d[len(d)-1] += fmt.Sprintf(" at %d", r.LastOffset)
	default:
		d[len(d)-1] += fmt.Sprintf(" at %d..%d", r.FirstOffset, r.LastOffset)
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{r.Drained, "drained"}, {r.Stalled, "stalled"}, {r.HeadRefused, "head refused"}} {
		if f.on {
			d = append(d, f.name)
		}
	}
	if r.Alarm != NoAlarm {
		d = append(d, "alarm "+r.Alarm.String())
	}
	return strings.Join(d, ", ")
}

// want claims what the last step resolved.
func (s *script) want(resolved string) {
	s.t.Helper()
	if s.open != resolved {
		s.fail("want %q, got %q", resolved, s.open)
	}
	s.open = ""
}

func (s *script) admit(records ...int32) {
	s.t.Helper()
	for _, n := range records {
		s.step("admit %d: %d records", s.w.Admit(n), n)
	}
}

// send writes exactly these batches, in this order.
func (s *script) send(batches ...uint64) {
	s.t.Helper()
	for _, b := range batches {
		s.step("send %d", b)
		got, h := s.w.Peek()
		if h != Ready || got.Batch != b {
			s.fail("want batch %d to be sent, got %d, %v", b, got.Batch, h)
		}
		s.w.Commit()
	}
}

// sendAs writes batch b and looks at what is stamped on it.
func (s *script) sendAs(b uint64, epoch int16, base Sequence, first bool) {
	s.t.Helper()
	got, _ := s.w.Peek()
	if want := (Send{b, first, s.w.producerID, epoch, base}); got != want {
		s.fail("want %+v, got %+v", want, got)
	}
	s.send(b)
}

// hold checks why nothing may be written now.
func (s *script) hold(want Hold) {
	s.t.Helper()
	if _, h := s.w.Peek(); h != want {
		s.fail("want hold %q, got %q", want, h)
	}
	s.log = append(s.log, "hold: "+want.String())
}

func (s *script) settle(a Answer, offset int64, batches ...uint64) {
	s.t.Helper()
	for _, b := range batches {
		s.step("%v for %d", a, b)
		s.resolved(s.w.Settle(b, a, offset))
	}
}

func (s *script) ok(batch uint64, offset int64)   { s.t.Helper(); s.settle(Success, offset, batch) }
func (s *script) duplicate(batches ...uint64)     { s.t.Helper(); s.settle(Duplicate, -1, batches...) }
func (s *script) outOfOrder(batches ...uint64)    { s.t.Helper(); s.settle(OutOfOrder, -1, batches...) }
func (s *script) notAppended(batches ...uint64)   { s.t.Helper(); s.settle(NotAppended, -1, batches...) }
func (s *script) refuse(batches ...uint64)        { s.t.Helper(); s.settle(Refused, -1, batches...) }
func (s *script) uncertain(batches ...uint64)     { s.t.Helper(); s.settle(Uncertain, -1, batches...) }
func (s *script) do(name string, f func(*Window)) { s.t.Helper(); s.step("%s", name); f(s.w) }

func (s *script) get(name string, f func(*Window) Resolution) {
	s.t.Helper()
	s.step("%s", name)
	s.resolved(f(s.w))
}

func (s *script) lost()   { s.t.Helper(); s.get("lost", (*Window).Lost) }
func (s *script) expire() { s.t.Helper(); s.get("expire", (*Window).Expire) }
func (s *script) drop()   { s.t.Helper(); s.get("drop", (*Window).Drop) }

func (s *script) bind(l Limits) {
	s.t.Helper()
	s.step("bind %+v", l)
	s.w.Bind(l)
}

func (s *script) regate(drained bool) {
	s.t.Helper()
	s.step("regate")
	if s.w.Regate() != drained {
		s.fail("want drained %v", drained)
	}
}

func (s *script) newID(id int64, epoch int16, taken bool) {
	s.t.Helper()
	s.step("producer id %d epoch %d", id, epoch)
	if s.w.SetProducer(id, epoch) != taken {
		s.fail("want the producer id taken: %v", taken)
	}
}

func (s *script) check(what string, ok bool) {
	s.t.Helper()
	if !ok {
		s.fail("not so: %s", what)
	}
}

// reconnect loses the connection and gets another one to the same broker.
func (s *script) reconnect(l Limits) {
	s.t.Helper()
	s.lost()
	s.want("drained")
	s.bind(l)
}

var unlimited = Limits{}

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

func TestOffsetsByArithmetic(t *testing.T) {
	for _, tc := range []struct {
		name   string
		offset int64 // of batch 3, which is to be at 130
		want   string
		then   string // what batch 5 resolves at 137
	}{
		{"nobody else wrote", 130, "written 1-3 at 100..130", "written 4-5 at -1..137"},
		{"another producer wrote one record", 131, "written 1-3 at -1..131", "written 4-5 at 136..137"},
		{"nearer than there are records", 129, "written 1-3 at -1..129, alarm offset", "written 4-5 at -1..137"},
		{"the broker does not say where", -1, "written 1-3 at -1", "written 4-5 at -1..137"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := opened(t, unlimited, 10, 20, 5, 1, 1)
			s.send(1, 2, 3)
			s.duplicate(1, 2)
			s.ok(3, tc.offset)
			s.want(tc.want)
			s.send(4, 5)
			s.duplicate(4)
			s.ok(5, 137)
			s.want(tc.then)
		})
	}
}

// Offsets begin at 0, which is an offset like any other.
func TestOffsetZero(t *testing.T) {
	s := start(t, unlimited)
	s.admit(1, 1, 1)
	s.send(0)
	s.ok(0, 0)
	s.want("written 0 at 0")
	s.send(1, 2)
	s.duplicate(1)
	s.ok(2, 2)
	s.want("written 1-2 at 1..2")
}

// An unclean election is an alarm once, also without arithmetic.
func TestOffsetsThatGoBack(t *testing.T) {
	for _, offset := range []int64{99, 0} {
		s := opened(t, unlimited, 10, 1)
		s.send(1)
		s.ok(1, offset)
		s.want(fmt.Sprintf("written 1 at %d, alarm offset", offset))
		s.send(2)
		s.ok(2, offset+10)
		s.want(fmt.Sprintf("written 2 at %d", offset+10))
	}
}

// K15: success with base offset -1.
func TestSuccessWithoutOffset(t *testing.T) {
	s := opened(t, unlimited, 3, 3, 3)
	s.send(1)
	s.ok(1, -1)
	s.want("written 1 at -1")
	s.send(2, 3)
	s.duplicate(2)
	s.ok(3, 1) // with nothing to compare, no alarm and no arithmetic
	s.want("written 2-3 at -1..1")
}

// DUPLICATE proves nothing and disturbs nothing in an open window.
func TestDuplicateInAnOpenWindow(t *testing.T) {
	s := opened(t, unlimited, 1, 1, 1, 1)
	s.send(1, 2)
	s.duplicate(1)
	s.send(3) // nothing is drained
	s.duplicate(2)
	s.ok(3, 102)
	s.want("written 1-3 at 100..102")
	s.send(4) // and nothing is sent twice

	s = opened(t, unlimited, 1, 1)
	s.send(1)
	s.duplicate(1) // the last one out, but not the last one there is
	s.want("")
	s.send(2)
	s.ok(2, 101)
	s.want("written 1-2 at 100..101")
}

// With nothing behind it that could prove it, a duplicate is asked for again.
func TestLastDuplicateIsAskedAgain(t *testing.T) {
	s := opened(t, unlimited, 1, 1)
	s.send(1, 2)
	s.duplicate(1)
	s.duplicate(2)
	s.want("drained, stalled")
	s.sendAs(1, 0, 1, false)
	s.hold(HoldGate)
	s.duplicate(1)
	s.send(2)
	s.ok(2, 101)
	s.want("written 1-2 at 100..101")
}

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
