package producer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// The first answer is held back and far more is produced than the window takes.
// The tap, which reads the socket, fails the test if a batch is written for the
// first time beyond W; here the window must also be used as far as whole
// batches go, and when the answer comes everything must flow.
func TestWindowOnTheWire(t *testing.T) {
	for _, test := range []struct {
		name   string
		broker int32 // W; 0: a stock broker
		user   int32 // the config's limit; 0: the default
		most   int64 // sequences in flight with batches of ten
	}{
		{"W=1", 1, 0, 1},
		{"W smaller than a batch", 7, 0, 7},
		{"W of one batch", 10, 0, 10},
		{"W of no whole number of batches", 35, 0, 30},
		{"W=100", 100, 0, 100},
		{"the user's lower limit", 100, 45, 40},
		{"the user's limit of one", 100, 1, 1},
		{"the user cannot raise it", 50, 5000, 50},
		{"a stock broker and the user's limit", 0, 60, 60},
		{"a stock broker", 0, 0, 490},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cc := topics(1)
				cc.SequenceWindow = test.broker
				s := newTapped(t, cc, func(c *config.Config) {
					if test.user > 0 {
						c.MaxInFlightSequences = test.user
					}
				})
				if err := s.p.Ping(t.Context()); err != nil { // before it, a batch may be larger, and goes alone
					t.Fatal(err)
				}
				s.warm(0)
				hold := make(chan struct{})
				s.c.OnProduce(refuseOnce(10, producertest.Hold(hold)))
				s.tens(0, 49)
				time.Sleep(time.Second)
				if got := s.tap.deepest("t", 0); got != test.most {
					t.Errorf("%d sequences in flight, want %d", got, test.most)
				}
				st := s.p.Stats().Partitions[0]
				if int64(st.Sequences) != test.most || test.most < 490 && st.Hold != "sequence window" {
					t.Errorf("%+v", st)
				}
				close(hold)
				s.judgeWritten()
				s.wantOffsets(0, 500)
				if got := s.tap.deepest("t", 0); got != test.most {
					t.Errorf("%d sequences in flight, want %d", got, test.most)
				}
			})
		})
	}
}

// The cap on batches counts from the oldest unresolved one, too.
func TestWindowOfBatchesOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(1), func(c *config.Config) { c.MaxInFlightBatches = 5 })
		s.warm(0)
		hold := make(chan struct{})
		s.c.OnProduce(refuseOnce(10, producertest.Hold(hold)))
		s.tens(0, 30)
		time.Sleep(time.Second)
		s.wantSent(0, 0, 0, 10, 20, 30, 40, 50)
		close(hold)
		s.judgeWritten()
	})
}

// A replay is not bound by W, and a batch that was cut for a larger window goes
// alone: the partition moves from a broker with a window of 100 to one with 7
// while 100 sequences are in doubt and more wait.
func TestWindowShrinksWithTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.Brokers, cc.BrokerWindows = 2, map[int32]int32{0: 100, 1: 7}
		s := newTapped(t, cc, nil)
		s.warm(0)
		now := make(chan struct{})
		close(now)
		release := make(chan struct{})
		s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			switch {
			case a.BaseSequence == 10 && a.FirstTime():
				return producertest.Hold(release)
			case a.BaseSequence == 20 && a.FirstTime():
				return producertest.Straggle(now) // it and all behind it are stored
			}
			return producertest.Fault{}
		})
		s.tens(0, 20)
		s.await(0, 1+10)
		close(release)
		synctest.Wait() // all of it was executed; now the connection is gone
		s.c.MoveLeader("t", 0, 1)
		s.tens(0, 10)
		s.judgeWritten()
		s.wantOffsets(0, len(s.entries))
		for _, b := range s.tap.batches(func(b sentBatch) bool { return b.first && b.addr == s.c.Addrs()[1] && b.base >= 310 }) {
			if b.records > 7 {
				t.Errorf("%v was cut for another window", b)
			}
		}
	})
}

// The window is that of the broker: a partition moves round three of them while
// records flow, with faults, on real sockets.
func TestWindowFollowsTheLeader(t *testing.T) {
	const records, moves = 4000, 20
	v := newVerified(t, producertest.Config{
		Brokers: 3, BrokerWindows: map[int32]int32{0: 100, 1: 13, 2: 0}, Topics: map[string]int32{"t": 2},
	}, func(c *config.Config) {
		c.BatchBytes, c.MaxInFlightSequences = tenRecords, 250
		// The buffer keeps the pace, so that all brokers have their turn.
		c.BufferBytes, c.MaxBlock = 150*oneRecord, config.Unbounded
	})
	v.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
		if a.FirstTime() && a.BaseSequence%19 == 3 {
			return producertest.Drop()
		}
		return producertest.Fault{}
	})
	for i := range records {
		if move := int32(i / (records / moves)); i%(records/moves) == 0 {
			v.c.MoveLeader("t", move%2, move%3)
		}
		v.produce(producer.On(int32(i % 2)))
	}
	v.judge(t)
	for p := range int32(2) {
		if d := v.tap.deepest("t", p); d > 250 {
			t.Errorf("partition %d: %d sequences in flight at most", p, d)
		}
	}
	addrs := map[string]bool{}
	for _, b := range v.tap.batches(func(b sentBatch) bool { return b.first }) {
		addrs[b.addr] = true
	}
	if len(addrs) != 3 {
		t.Errorf("new batches went to %v only", fmt.Sprint(addrs))
	}
}

// A batch that was opened for a large window takes no more records than the
// small one of the next leader allows, once that is known.
func TestBatchIsCutForTheNextLeadersWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(2)
		cc.Brokers, cc.BrokerWindows = 2, map[int32]int32{0: 1000, 1: 10}
		s := newTapped(t, cc, func(c *config.Config) {
			c.Linger, c.BatchBytes, c.MetadataMaxAge = 10*time.Second, 64<<10, 100*time.Millisecond
		})
		zero, one := producer.Record{Partition: producer.On(0)}, producer.Record{Partition: producer.On(1)}
		s.sync(t.Context(), zero, 10)
		s.sync(t.Context(), one, 10)
		s.produce(t.Context(), zero, 10) // opens a batch
		time.Sleep(time.Second)
		s.c.MoveLeader("t", 0, 1)
		time.Sleep(time.Second)
		drops := 0
		s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if drops++; drops < 3 {
				return producertest.Drop()
			}
			return producertest.Fault{}
		})
		for range 900 {
			s.produce(t.Context(), zero, 10)
		}
		s.flush(time.Minute)
		var largest int32
		for _, b := range s.tap.batches(nil) {
			largest = max(largest, b.records)
		}
		if largest > 10 {
			t.Errorf("a batch of %d records for a window of 10", largest)
		}
		s.judge()
	})
}
