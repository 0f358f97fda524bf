package throttle

import (
	"fmt"
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
