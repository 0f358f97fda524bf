package producertest

import (
	"runtime"
	"strings"
	"testing"
)

func TestWatchI10(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		r := s.open(0, 0)
		r.send(seq{7, 0, 0, 10, "other"}.on("t", 0)) // taken for the same by every broker
		r.got(0)
	}, "I10: topic t partition 0 producer 7 epoch 0 sequence 0 (10 records)")
	play(t, Config{}, func(s *scene) {
		r := s.open(0, 0)
		r.send(seq{7, 0, 10, 5, "v"}.on("t", 0))
		r.got(0)
		r.send(seq{7, 0, 10, 6, "v"}.on("t", 0))
		r.got(45)
	}, "I10: topic t partition 0 producer 7 epoch 0 sequence 10 (6 records)")
	play(t, Config{}, func(s *scene) {
		r := s.open(0, 0)
		r.post(0)
		r.got(0)
		r.send(seq{7, 1, 0, 3, "w"}.on("t", 0)) // another epoch is another batch
		r.send(seq{8, 0, 0, 4, "x"}.on("t", 0))
		r.got(0, 0)
	})
}

func TestWatchOneConnection(t *testing.T) {
	two := Config{Brokers: 2}
	move := func(s *scene, leave func(a *client)) {
		a := s.open(0, 0)
		s.fault(map[int32]Fault{10: Hold(nil)})
		a.post(10)
		s.must(s.c.MoveLeader("t", 0, 1))
		leave(a)
		s.c.OnProduce(nil)
		s.open(1, 10)
	}
	play(t, two, func(s *scene) { move(s, func(*client) {}) },
		"I14: topic t partition 0 producer 7 epoch 0 sequence 10 (10 records) on connection 2: connection 1 is open and has 1 unanswered")
	play(t, two, func(s *scene) { move(s, (*client).abandon) })
	play(t, two, func(s *scene) { move(s, func(a *client) { a.conn.Close() }) })
	play(t, two, func(s *scene) { move(s, func(*client) { s.must(s.c.CutConnections(0)) }) })
	play(t, two, func(s *scene) { // everything answered
		a := s.open(0, 0)
		s.must(s.c.MoveLeader("t", 0, 1))
		a.post(10, 20)
		a.got(6, 6)
		s.open(1, 10)
	})
}

// A new batch after a lost answer, without asking for what is in doubt.
func TestWatchForgottenDoubt(t *testing.T) {
	lost := func(s *scene, next int32) {
		a := s.open(0, 0)
		s.fault(map[int32]Fault{10: Drop()})
		a.post(10)
		if a.end() == nil {
			s.t.Error("the connection lives")
		}
		connect(s.t, s.c, 0).post(next)
	}
	play(t, Config{}, func(s *scene) { lost(s, 10) })
	play(t, Config{}, func(s *scene) { lost(s, 20) }, "sequence 20 (10 records) on connection 2: a new batch while sequence 10 is in doubt")
}

// What a response leaves out is no longer on its way; a response that the
// client cannot use answers nothing.
func TestWatchOddAnswers(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		r := s.open(0, 0)
		s.fault(map[int32]Fault{10: Fault{}.Omit()})
		r.post(10)
		r.recv()
		r.post(10)
		r.got(0)
	})
	play(t, Config{}, func(s *scene) {
		r := connect(t, s.c, 0)
		s.c.OnResponse(func(a *Response) { a.CorrelationID++ })
		r.post(0, 10)
	}, "2 in flight before the first success")
}

// Who resumes the work of another process asks how far that came.
func TestWatchResume(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		s.fault(map[int32]Fault{10: Drop()})
		s.open(0, 0).post(10)
		r := connect(t, s.c, 0)
		r.ask(describeRequest())
		r.post(20)
		r.got(0)
	})
}

func TestViolationsAreBounded(t *testing.T) {
	w := newWatch()
	for range 2 * maxViolations {
		w.violate("x")
	}
	want(t, "kept", len(w.violations), maxViolations)
}

// On sockets the end of a connection is seen late. Who abandons one may go on
// with another at once; who does not abandon it is found out.
func TestWatchOnSockets(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("sockets cannot be looked at on " + runtime.GOOS)
	}
	c := start(t, Config{Brokers: 2, Topics: map[string]int32{"t": 1}})
	held := make(chan struct{}, 1)
	c.OnProduce(func(a ProduceAttempt) Fault {
		if a.BaseSequence == 10 && a.FirstTime() {
			held <- struct{}{}
			return Hold(nil)
		}
		return Fault{}
	})
	move := func(id int64, leave func(a *client)) {
		from, _, err := c.Leader("t", 0)
		if err != nil {
			t.Fatal(err)
		}
		a, b := connect(t, c, int(from)), connect(t, c, int(1-from))
		batch := func(base int32) seq { return seq{id, 0, base, 10, "v"} }
		want(t, "first", a.produce(batch(0)).code, 0)
		a.send(batch(10).on("t", 0), batch(20).on("t", 0))
		<-held
		if err := c.MoveLeader("t", 0, 1-from); err != nil {
			t.Fatal(err)
		}
		leave(a)
		want(t, "at the new leader", b.produce(batch(10)).code, 0)
	}
	for id := range int64(100) {
		move(id, (*client).abandon)
	}
	want(t, "violations", len(c.Violations()), 0)
	move(100, func(*client) {})
	if v := c.Violations(); len(v) != 1 || !strings.HasPrefix(v[0], "I14: topic t partition 0 producer 100 epoch 0 sequence 10") {
		t.Errorf("%q", v)
	}
}
