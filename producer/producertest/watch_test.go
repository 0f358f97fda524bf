package producertest

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

// scene is a cluster in a bubble and clients written by hand. Batches are of
// ten records of producer 7, epoch 0, unless the test says otherwise.
type scene struct {
	t    *testing.T
	c    *Cluster
	held map[int32]chan struct{} // by base sequence
}

// play runs a scene in a bubble and compares the violations with what each must
// contain.
func play(t *testing.T, cfg Config, act func(s *scene), want ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.InMemory, cfg.Topics = true, map[string]int32{"t": 1}
		s := &scene{t: t, c: start(t, cfg), held: make(map[int32]chan struct{})}
		act(s)
		synctest.Wait()
		got := s.c.Violations()
		for i, v := range got {
			if i >= len(want) || !strings.Contains(v, want[i]) {
				t.Errorf("violation %q", v)
			}
		}
		if len(got) < len(want) {
			t.Errorf("%d violations, want %q", len(got), want)
		}
		s.c.Close()
	})
}

// fault sets faults by base sequence, for the first attempt of each batch.
func (s *scene) fault(faults map[int32]Fault) {
	s.c.OnProduce(func(a ProduceAttempt) Fault {
		if !a.FirstTime() {
			return Fault{}
		}
		return faults[a.BaseSequence]
	})
}

// hold holds the first attempt of a batch, until release.
func (s *scene) hold(base int32) (release func()) {
	until := make(chan struct{})
	s.fault(map[int32]Fault{base: Hold(until)})
	return func() { close(until) }
}

func b10(base int32) seq { return seq{7, 0, base, 10, "v"} }

// post sends batches of ten and lets everything happen.
func (r *client) post(bases ...int32) {
	r.t.Helper()
	for _, base := range bases {
		r.send(b10(base).on("t", 0))
		synctest.Wait()
	}
}

// got reads answers and compares their codes.
func (r *client) got(codes ...int16) {
	r.t.Helper()
	for i, code := range codes {
		if a := r.produced(); a.code != code {
			r.t.Errorf("answer %d: code %d, want %d", i, a.code, code)
		}
	}
}

// open connects and gets the first batch through.
func (s *scene) open(broker int, base int32) *client {
	s.t.Helper()
	r := connect(s.t, s.c, broker)
	r.post(base)
	r.got(0)
	return r
}

func (s *scene) must(errs ...error) {
	s.t.Helper()
	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
}

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

func TestWatchGate(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		release := s.hold(0)
		r := connect(t, s.c, 0)
		r.post(0, 10)
		release()
		r.got(0, 0)
	}, "I12: topic t partition 0 producer 7 epoch 0 sequence 10 (10 records) on connection 1: 2 in flight before the first success")
	play(t, Config{}, func(s *scene) { // after it the window is open
		r := s.open(0, 0)
		release := s.hold(10)
		r.post(10, 20, 30)
		release()
		r.got(0, 0, 0)
	})
	play(t, Config{}, func(s *scene) { // but not that of another connection
		s.open(0, 0).conn.Close()
		release := s.hold(10)
		r := connect(t, s.c, 0)
		r.post(10, 20)
		release()
		r.got(0, 0)
	}, "sequence 20 (10 records) on connection 2: 2 in flight")
	play(t, Config{}, func(s *scene) { // nor that of another epoch
		r := s.open(0, 0)
		release := s.hold(0)
		for i := range int32(2) {
			r.send(seq{7, 1, i, 1, "v"}.on("t", 0))
			synctest.Wait()
		}
		release()
		r.got(0, 0)
	}, "epoch 1 sequence 1 (1 records) on connection 1: 2 in flight")
}

// The gate closes again when the partition comes back in a new leader epoch.
func TestWatchGateOfLeaderEpoch(t *testing.T) {
	back := func(s *scene, again ...int32) {
		a := s.open(0, 0)
		s.must(s.c.MoveLeader("t", 0, 1))
		s.open(1, 10)
		s.must(s.c.MoveLeader("t", 0, 0))
		release := s.hold(20)
		a.post(again...)
		release()
	}
	two := Config{Brokers: 2}
	play(t, two, func(s *scene) { back(s, 20) })
	play(t, two, func(s *scene) { // a new connection, with the old one gone
		s.open(0, 0).conn.Close()
		s.must(s.c.MoveLeader("t", 0, 1))
		release := s.hold(10)
		connect(t, s.c, 1).post(10, 20)
		release()
	}, "sequence 20 (10 records) on connection 2: 2 in flight")
	play(t, two, func(s *scene) { back(s, 20, 30) }, "sequence 30 (10 records) on connection 1: 2 in flight")
}

// broken gets one batch through, lets the next three break with a leader that is
// not one, and drains.
func broken(s *scene) *client {
	r := s.open(0, 0)
	until := make(chan struct{})
	s.fault(map[int32]Fault{10: Refuse(6).Hold(until)})
	r.post(10, 20, 30)
	close(until)
	r.got(6, 45, 45)
	return r
}

func TestWatchReplay(t *testing.T) {
	play(t, Config{}, func(s *scene) {
		r := broken(s)
		r.post(10)
		r.got(0)
		r.post(20, 30, 40)
		r.got(0, 0, 0)
	})
	play(t, Config{}, func(s *scene) { // una refused: what is in doubt follows, pipelined
		r := broken(s)
		until := make(chan struct{})
		s.c.OnProduce(func(a ProduceAttempt) Fault {
			switch {
			case a.BaseSequence == 10:
				return AppendThen(46).NoOffset()
			case a.BaseSequence == 20:
				return AppendThen(46).NoOffset().Hold(until)
			}
			return Fault{}
		})
		r.post(10)
		r.got(46)
		r.post(20, 30)
		close(until)
		r.got(46, 0)
		r.post(40, 50)
		r.got(0, 0)
	})
	play(t, Config{}, func(s *scene) { // una not yet refused
		r := broken(s)
		until := make(chan struct{})
		s.c.OnProduce(func(ProduceAttempt) Fault { return Hold(until) })
		r.post(10, 20)
		close(until)
		r.got(0, 0)
	}, "sequence 20 (10 records) on connection 1: 2 in flight before the first success")
	play(t, Config{}, func(s *scene) { // a new one among them
		r := broken(s)
		until := make(chan struct{})
		s.c.OnProduce(func(a ProduceAttempt) Fault {
			if a.BaseSequence == 10 {
				return AppendThen(46).NoOffset()
			}
			return Hold(until)
		})
		r.post(10)
		r.got(46)
		r.post(20, 40)
		close(until)
		r.got(0, 45)
	}, "sequence 40 (10 records) on connection 1: a new batch among those of a replay")
	play(t, Config{}, func(s *scene) { // a new one, perhaps sent before the refusals were seen
		r := broken(s)
		r.post(40)
		r.got(45)
	})
	play(t, Config{}, func(s *scene) { // sent again before everything is answered
		r := s.open(0, 0)
		until := make(chan struct{})
		s.fault(map[int32]Fault{10: Refuse(6), 20: Hold(until)})
		r.post(10, 20)
		r.got(6)
		r.post(10)
		close(until)
		r.got(45, 0)
	}, "I14: topic t partition 0 producer 7 epoch 0 sequence 10 (10 records) on connection 1: sent again while 1 are unanswered")
}

// Where a broker gives no success even for the latest, a new batch may go alone.
func TestWatchNewBatchProvesDuplicates(t *testing.T) {
	all46 := func(s *scene, latest Fault) *client {
		r := s.open(0, 0)
		s.c.OnProduce(func(a ProduceAttempt) Fault {
			switch a.BaseSequence {
			case 10:
				return AppendThen(46).NoOffset()
			case 20:
				return latest
			}
			return Fault{}
		})
		r.post(10, 20)
		r.got(46, latest.code)
		r.post(10)
		r.got(46)
		r.post(20)
		r.got(latest.code)
		r.post(30)
		return r
	}
	play(t, Config{}, func(s *scene) { all46(s, AppendThen(46).NoOffset()).got(0) })
	play(t, Config{}, func(s *scene) { all46(s, Refuse(45)).got(45) },
		"sequence 30 (10 records) on connection 1: a new batch while sequence 10 is in doubt")
}

func TestWatchWindow(t *testing.T) {
	in := func(window int32) Config { return Config{Brokers: 2, SequenceWindow: window} }
	fill := func(s *scene, bases ...int32) {
		r := s.open(0, 0)
		release := s.hold(10)
		r.post(bases...)
		release()
		r.got(make([]int16, len(bases))...)
	}
	play(t, in(30), func(s *scene) { fill(s, 10, 20, 30) })
	play(t, in(29), func(s *scene) { fill(s, 10, 20, 30) },
		"I12: topic t partition 0 producer 7 epoch 0 sequence 30 (10 records) on connection 1: ends 29 beyond sequence 10, which is unconfirmed, and the window is 29")
	play(t, in(1), func(s *scene) { s.open(0, 0).post(10) }) // larger than the window: goes alone
	play(t, in(0), func(s *scene) { fill(s, 10, 20, 30, 40, 50, 60) })

	// A duplicate confirms nothing.
	duplicate := func(s *scene, bases ...int32) {
		r := s.open(0, 0)
		s.fault(map[int32]Fault{10: AppendThen(46).NoOffset(), 20: AppendThen(46).NoOffset()})
		r.post(10, 20)
		r.got(46, 46)
		r.post(bases...)
	}
	play(t, in(30), func(s *scene) { duplicate(s, 30) })
	play(t, in(29), func(s *scene) { duplicate(s, 30) }, "ends 29 beyond sequence 10")

	// A client that was not told of the window cannot keep to it.
	untold := in(10)
	untold.MaxVersions = map[int16]int16{keyApiVersions: 2}
	play(t, untold, func(s *scene) {
		r := dial(t, s.c, 0)
		r.ask(apiVersionsRequest(2))
		r.post(0)
		release := s.hold(10)
		r.post(10, 20)
		release()
		r.got(0, 0, 0)
	})
}

// A replay ignores the window of a new leader, and what was never received may
// still be one.
func TestWatchWindowOfNewLeader(t *testing.T) {
	cfg := Config{Brokers: 2, BrokerWindows: map[int32]int32{0: 100, 1: 10}}
	replay := func(s *scene, bases ...int32) {
		a := s.open(0, 0)
		s.fault(map[int32]Fault{10: Hold(nil)})
		a.post(10, 20, 30)
		a.abandon()
		synctest.Wait() // how far the window went is counted when the end is seen
		s.must(s.c.MoveLeader("t", 0, 1))
		s.c.OnProduce(nil)
		s.open(1, 10).post(bases...)
	}
	play(t, cfg, func(s *scene) { replay(s, 20, 30) })
	play(t, cfg, func(s *scene) { replay(s, 20, 30, 40) })
	play(t, cfg, func(s *scene) {
		replay(s, 20)
		s.c.OnProduce(func(a ProduceAttempt) Fault {
			if a.BaseSequence == 30 {
				return AppendThen(46).NoOffset()
			}
			return Fault{}
		})
		s.open(1, 20).post(30, 110) // the old window went to 109
	}, "sequence 110 (10 records) on connection 3: ends 89 beyond sequence 30")
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

func TestWatchOverTheWrap(t *testing.T) {
	const top = math.MaxInt32 - 9 // a batch of ten ends at the wrap
	cfg := Config{SequenceWindow: 30}
	play(t, cfg, func(s *scene) {
		r := s.open(0, top-10)
		release := s.hold(top)
		r.post(top, 0, 10)
		release()
		r.got(0, 0, 0)
	})
	play(t, cfg, func(s *scene) {
		r := s.open(0, top-10)
		release := s.hold(top)
		r.post(top, 0, 10, 20)
		release()
		r.got(0, 0, 0, 0)
	}, "sequence 20 (10 records) on connection 1: ends 39 beyond sequence 2147483638")
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
