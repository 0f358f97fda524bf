package throttle

import (
	"fmt"
	"testing"
)

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
