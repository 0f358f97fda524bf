package producertest

import (
	"math"
	"testing"
	"testing/synctest"
)

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
