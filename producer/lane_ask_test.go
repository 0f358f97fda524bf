package producer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A question whose write fails is asked again on the next connection, whatever
// follows it there: the partition must not wait for an answer to what nobody
// received.
func TestQuestionThatWasNotWrittenIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(2), nil)
		s.warm(0, 1)
		// partition 0 in doubt
		drop := true
		s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if drop && a.Partition == 0 {
				drop = false
				s.c.Stop(0)
				return producertest.Drop()
			}
			return producertest.Fault{}
		})
		s.tens(0, 1)
		time.Sleep(100 * time.Millisecond)
		s.tens(1, 1)
		asked := 0
		s.tap.onWrite(func(key int16, _ int) int {
			if key == 61 {
				if asked++; asked == 1 {
					return 0
				}
			}
			return -1
		})
		s.c.Start(0)
		began := time.Now()
		s.flush(time.Hour)
		took := time.Since(began)
		t.Logf("took %v, asked %d", took, asked)
		if took > 30*time.Second {
			t.Errorf("flush took %v", took)
		}
		s.judgeWritten()
	})
}

// A broker may offer DescribeProducers and then hang up, or say nothing, each
// time it is asked. The producer gives up asking and the records are written
// without an answer.
func TestQuestionsWithoutAnswerStopNoPartition(t *testing.T) {
	for name, spoil := range map[string]func(*producertest.Response){
		"cut":    func(r *producertest.Response) { r.CutAfter = 0 },
		"silent": func(r *producertest.Response) { r.Withhold = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTapped(t, topics(1), nil)
				s.warm(0)
				s.c.OnResponse(func(r *producertest.Response) {
					if _, ok := r.Message.(*kmsg.DescribeProducersResponse); ok {
						spoil(r)
					}
				})
				drop := true
				s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
					if drop {
						drop = false
						return producertest.Drop()
					}
					return producertest.Fault{}
				})
				s.tens(0, 1)
				began := time.Now()
				s.flush(time.Hour)
				t.Logf("after %v: %+v; questions %d connections %d", time.Since(began), s.result(10).Outcome, s.p.Stats().Questions, s.p.Stats().Connections)
				s.judgeWritten()
			})
		})
	}
}

// An audit of a broker that does not answer takes as long as a request may, for
// each of its partitions. Those of other brokers do not wait behind it, or
// their records would run out of time.
func TestAuditOfASilentBrokerHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const parts = 24
		c := newCluster(t, producertest.Config{InMemory: true, Brokers: 2, Topics: map[string]int32{"t": parts}})
		setting := func(c *config.Config) { c.Linger = 0 }
		p := newProducer(t, c, setting)
		bad, good := p.Lane(), p.Lane()
		var cps [2]producer.Checkpoint
		for i := range 20 {
			for part := int32(0); part < parts; part += 2 {
				bad.Produce(t.Context(), numberedOn(i, part), nil)
			}
			good.Produce(t.Context(), numberedOn(i, 1), nil)
			if i == 4 {
				var err, err2 error
				cps[0], err = bad.Checkpoint(t.Context())
				cps[1], err2 = good.Checkpoint(t.Context())
				if err := errors.Join(err, err2); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		end(t, p)
		c.OnResponse(func(r *producertest.Response) {
			if _, ok := r.Message.(*kmsg.OffsetForLeaderEpochResponse); ok && r.Broker == 0 {
				r.Withhold = true
			}
		})
		p = newProducer(t, c, setting)
		bad, err := p.Resume(t.Context(), cps[0])
		if err != nil {
			t.Fatal(err)
		}
		if good, err = p.Resume(t.Context(), cps[1]); err != nil {
			t.Fatal(err)
		}
		for part := int32(0); part < parts; part += 2 { // broker 0
			for i := 5; i < 10; i++ {
				bad.Produce(t.Context(), numberedOn(i, part), nil)
			}
		}
		time.Sleep(time.Second)
		began := time.Now()
		var last producer.Result
		for i := 5; i < 10; i++ {
			good.Produce(t.Context(), numberedOn(i, 1), func(r producer.Result) { last = r })
		}
		_ = good.Flush(t.Context())
		t.Logf("partition 1 of a good broker after %v: %+v", time.Since(began), last)
		if last.Outcome != producer.Written {
			t.Fail()
		}
	})
}
