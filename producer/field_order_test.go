package producer_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// K01: OUT_OF_ORDER behind a batch that was refused is an echo. All of them go
// to the new leader with the sequences they had, in order, and nobody hears of
// it.
func TestK01FollowersOfARefusedBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.Brokers = 2
		s := newTapped(t, cc, func(c *config.Config) { c.MaxInFlightBatches = 5 })
		s.warm(0)
		refuse := make(chan struct{})
		s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			switch {
			case a.Broker != 0:
				return producertest.Fault{}
			case a.BaseSequence == 10:
				return producertest.Refuse(6).Hold(refuse)
			}
			return producertest.Refuse(45)
		})
		s.tens(0, 5)
		s.await(0, 6)
		s.c.MoveLeader("t", 0, 1)
		close(refuse)
		s.judgeWritten()
		s.wantSent(0, 0, 0, 10, 20, 30, 40, 50, 10, 20, 30, 40, 50)
		s.wantOffsets(0, 60)
		if st := s.p.Stats(); st.OutOfOrder != 4 || st.Resends != 5 {
			t.Errorf("%d out of order, %d resends", st.OutOfOrder, st.Resends)
		}
	})
}

// K02: what a connection took with it is unknown. Whatever the broker made of
// it, both batches are sent again unchanged, and are in the log once.
func TestK02AfterALostReply(t *testing.T) {
	now := make(chan struct{})
	close(now)
	for _, test := range []struct {
		name  string
		fault producertest.Fault // of the first of two
	}{
		{"run A, neither stored", producertest.Cut()},
		{"run B, the first stored", producertest.Drop()},
		{"both stored", producertest.Straggle(now)},
	} {
		for _, window := range []int32{0, 1000} {
			t.Run(test.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cc := silent() // else the replay might begin further on
					cc.SequenceWindow = window
					s := newTapped(t, cc, nil)
					s.warm(0)
					release := make(chan struct{})
					s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
						switch {
						case a.BaseSequence == 10 && a.FirstTime():
							return producertest.Hold(release) // until both are behind it
						case a.BaseSequence == 20 && a.FirstTime():
							return test.fault
						}
						return producertest.Fault{}
					})
					s.tens(0, 3)
					s.await(0, 4)
					close(release)
					s.judgeWritten()
					s.wantSent(0, 0, 0, 10, 20, 30, 20, 30)
					s.wantOffsets(0, 40)
				})
			})
		}
	}
}

// K05: 50 goroutines produce while the first answer is held back. Sequences
// count records, and are given out where the order on the wire is fixed.
func TestK05SequencesUnderLoad(t *testing.T) {
	const goroutines, calls = 50, 20
	cc := topics(1)
	cc.InMemory = false
	s := newTapped(t, cc, func(c *config.Config) { c.BatchBytes, c.Linger = 500, 0 })
	s.unordered = true
	release := make(chan struct{})
	s.c.OnProduce(refuseOnce(0, producertest.Hold(release)))
	numbers := make([][]int, goroutines)
	var running sync.WaitGroup
	for g := range goroutines {
		running.Go(func() {
			for i := range calls {
				for range 1 + (g+i)%3 {
					numbers[g] = append(numbers[g], s.produce(t.Context(), producer.Record{Partition: producer.On(0)}, 50))
				}
			}
		})
	}
	s.await(0, 1)
	running.Wait()
	close(release)
	s.judgeWritten()
	for g, list := range numbers {
		if !slices.IsSortedFunc(list, func(a, b int) int { return int(s.result(a).Offset - s.result(b).Offset) }) {
			t.Errorf("goroutine %d: its records are not in order", g)
		}
	}
	next := int32(0)
	for _, b := range s.tap.batches(nil) {
		if b.base != next || !b.first {
			t.Fatalf("%v, want sequence %d", b, next)
		}
		next += b.records
	}
	if st := s.p.Stats(); st.OutOfOrder != 0 || st.Connections != 1 {
		t.Errorf("%d out of order, %d connections", st.OutOfOrder, st.Connections)
	}
}

// K06: a batch to be sent again goes before all that came later, and nothing
// overtakes it during the pause.
func TestK06RetryIsNotOvertaken(t *testing.T) {
	for _, test := range []struct {
		name  string
		most  int
		bases []int32
	}{
		{"one in flight", 1, []int32{0, 10, 10, 20, 30}},
		{"deep", 0, []int32{0, 10, 20, 30, 10, 20, 30}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTapped(t, topics(1), func(c *config.Config) { c.MaxInFlightBatches = test.most })
				s.warm(0)
				release := make(chan struct{})
				s.c.OnProduce(refuseOnce(10, producertest.Refuse(19).Hold(release)))
				s.tens(0, 1)
				s.await(0, 2)
				s.tens(0, 2) // while the first one is away
				time.Sleep(time.Second)
				close(release)
				synctest.Wait()
				refused := time.Now()
				s.judgeWritten()
				s.wantSent(0, 0, test.bases...)
				again := s.tap.batches(func(b sentBatch) bool { return !b.first })[0]
				if pause := again.at.Sub(refused); pause < 80*time.Millisecond || pause > 120*time.Millisecond {
					t.Errorf("sent again after %v", pause)
				}
			})
		})
	}
}

// K07: a broker without state takes any first sequence, so that nothing may
// follow a batch whose fate is open. Two brokers: the rule holds anew at each.
func TestK07OneUntilTheFirstSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.Brokers = 2
		s := newTapped(t, cc, nil)
		release := make(chan struct{})
		s.c.OnProduce(refuseOnce(0, producertest.Refuse(6).Hold(release)))
		s.tens(0, 3)
		s.await(0, 1)
		time.Sleep(time.Second)
		s.wantSent(0, 0, 0)
		close(release)
		s.flush(time.Minute)
		s.wantSent(0, 0, 0, 0, 10, 20)

		old, young := make(chan struct{}), make(chan struct{})
		s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			switch {
			case a.BaseSequence == 30 && a.Broker == 0:
				return producertest.Hold(old)
			case a.BaseSequence == 30:
				return producertest.Hold(young)
			}
			return producertest.Fault{}
		})
		s.tens(0, 3)
		s.await(0, 4+3)
		s.c.ForgetProducers("t", 0)
		s.c.MoveLeader("t", 0, 1)
		close(old)
		s.await(0, 4+3+1)
		time.Sleep(time.Second)
		s.wantSent(0, 0, 0, 0, 10, 20, 30, 40, 50, 30)
		close(young)
		s.judgeWritten()
		s.wantSent(0, 0, 0, 0, 10, 20, 30, 40, 50, 30, 40, 50)
	})
}

// K07: if it happens all the same, since the broker forgot the producer while
// several were in flight, it is said, and does not go round for ever.
func TestK07GapIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(1), nil)
		s.warm(0)
		release := make(chan struct{})
		s.c.OnProduce(refuseOnce(10, producertest.Refuse(6).Hold(release)))
		lost := s.tens(0, 2)
		s.await(0, 3)
		s.c.ForgetProducers("t", 0)
		close(release)
		s.flush(time.Minute)
		s.tens(0, 2)
		sum := s.judge()
		if r := s.result(lost); r.Outcome != producer.Unknown {
			t.Errorf("%+v", r)
		}
		if st := s.p.Stats(); st.Alarms != 1 || sum.unknown != 10 || sum.written != 40 {
			t.Errorf("%d alarms, %+v", st.Alarms, sum)
		}
	})
}

// A producer asks for an ID once, however many partitions wait for it; another
// one would begin all of them anew.
func TestOneProducerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := newSpoiltTapped(t, topics(20), func(c *producertest.Cluster) {
			c.OnResponse(func(r *producertest.Response) {
				if r.Request.Key() == int16(kmsg.InitProducerID) {
					asked++
					r.Delay = time.Second
				}
			})
		}, nil)
		for range 2 {
			for p := range int32(20) {
				s.tens(p, 2)
			}
			time.Sleep(10 * time.Second) // full batches need no flush, which might catch a part of one
			s.flush(time.Minute)
		}
		s.judgeWritten()
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		for p := range int32(20) {
			s.wantSent(p, 0, 0, 10, 20, 30)
		}
	})
}
