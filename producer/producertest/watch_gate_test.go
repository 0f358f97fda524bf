package producertest

import (
	"testing"
	"testing/synctest"
)

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
