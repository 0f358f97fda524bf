package producer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Lane.Close right after the first record.
func TestLaneFaultLaneCloseFailsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		var got producer.Result
		l.Produce(t.Context(), numbered(0), func(r producer.Result) { got = r })
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got.Outcome != producer.Written {
			t.Errorf("%+v", got)
		}
	})
}

// a record that waits for its topic fails while Mark waits.
func TestLaneFaultMarkMissesRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		if _, err := l.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Fatal(err)
		}
		var got producer.Result
		l.Produce(t.Context(), producer.Record{Topic: "t", Partition: producer.On(7), Value: []byte("x")}, func(r producer.Result) { got = r })
		cp, err := l.Checkpoint(t.Context())
		synctest.Wait()
		t.Logf("record: %+v; lane: %v", got, l.Err())
		if err == nil && got.Outcome != producer.Written {
			t.Errorf("a checkpoint %v %+v that counts a record which is %v", cp, cp.Partitions, got.Outcome)
		}
	})
}

// pending.recut, and the batch is resolved by the success of another.
func TestLaneFaultRecutOfAResolvedBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, func(c *config.Config) { c.Linger, c.BatchBytes = 5*time.Millisecond, 100 })
		l := p.Lane()
		if _, err := l.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		first := true
		c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if first {
				first = false
				return producertest.AppendThen(10)
			}
			return producertest.Fault{}
		})
		for i := 1; i < 13; i++ {
			l.Produce(t.Context(), numbered(i), nil)
		}
		_ = l.Flush(t.Context())
		t.Log(l.Err())
	})
}

// the same with honest brokers: another process with smaller batches.
func TestLaneFaultRecutBesideAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.MaxMessageBytes = 200
		c := newCluster(t, cc)
		setting := func(n int) func(c *config.Config) {
			return func(c *config.Config) { c.Linger, c.BatchBytes = 5*time.Millisecond, n }
		}
		large := newProducer(t, c, setting(1<<14)).Lane()
		if _, err := large.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Fatal(err)
		}
		cp, err := large.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		small, err := newProducer(t, c, setting(1)).Resume(t.Context(), cp)
		if err != nil {
			t.Fatal(err)
		}
		hold, soon := make(chan struct{}), make(chan struct{})
		var n atomic.Int32
		c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.BaseSequence == 1 && a.Records > 1 && a.FirstTime() {
				return producertest.Hold(soon)
			}
			if a.BaseSequence == 40 && n.Add(1) == 1 {
				return producertest.Hold(hold)
			}
			return producertest.Fault{}
		})
		for i := 1; i < 40; i++ {
			large.Produce(t.Context(), numbered(i), nil)
		}
		if _, err := large.Mark(t.Context()); err != nil { // seals
			t.Fatal(err)
		}
		large.Produce(t.Context(), numbered(40), nil)
		time.Sleep(20 * time.Millisecond)
		close(soon)
		time.Sleep(20 * time.Millisecond)
		t.Log("held", n.Load())
		for i := 1; i < 40; i++ {
			small.Produce(t.Context(), numbered(i), nil)
		}
		if err := small.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(hold)
		_ = large.Flush(t.Context())
		t.Log(large.Err(), small.Err())
		wantCount(t, c, 0, 41)
	})
}

// slowLog blocks where a lane says that it stops.
type slowLog struct {
	slog.Handler
	on func(string)
}

func (h slowLog) Enabled(context.Context, slog.Level) bool { return true }
func (h slowLog) Handle(_ context.Context, r slog.Record) error {
	h.on(r.Message)
	return nil
}
func (h slowLog) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h slowLog) WithGroup(string) slog.Handler      { return h }

// the producer ID comes between the first record's end and the stop.
func TestLaneFaultIDComesAfterAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		var broken atomic.Bool
		broken.Store(true)
		c.OnResponse(func(r *producertest.Response) {
			if m, ok := r.Message.(*kmsg.InitProducerIDResponse); ok && broken.Load() {
				m.ErrorCode = 15 // COORDINATOR_NOT_AVAILABLE
			}
		})
		p := newProducer(t, c, func(c *config.Config) {
			c.Linger, c.BatchBytes, c.RequestTimeout, c.DeliveryTimeout = 0, 1, 2*time.Second, 10*time.Second
			c.Logger = slog.New(slowLog{on: func(s string) {
				if s == "a lane has stopped" {
					broken.Store(false)
					time.Sleep(5 * time.Second)
				}
			}})
		})
		l := p.Lane()
		l.Produce(t.Context(), numbered(0), nil)
		time.Sleep(5 * time.Second)
		l.Produce(t.Context(), numbered(1), nil)
		l.Produce(t.Context(), numbered(2), nil)
		_ = l.Flush(t.Context())
		t.Log(l.Err(), values(t, c, 0))
	})
}

// the write of a question fails, and a request follows it.
func TestLaneFaultQuestionThatWasNotWritten(t *testing.T) {
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

// the topic is recreated while the lane has nothing to write.
func TestLaneFaultRecreatedWhileIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, func(c *config.Config) { c.MetadataMaxAge = time.Minute })
		l := p.Lane()
		for i := range 5 {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.DeleteTopic("t"), c.CreateTopic("t", 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		cp, err := l.Checkpoint(t.Context())
		t.Logf("checkpoint: %+v %v", cp, err)
		if err == nil {
			l2, err := newProducer(t, c, nil).Resume(t.Context(), cp)
			t.Logf("resume of it: %v", err)
			if err == nil {
				t.Error("Resume takes a checkpoint of a topic that was recreated")
				_ = l2
			}
		}
		began := time.Now()
		_, err = l.ProduceSync(t.Context(), numbered(5))
		t.Logf("after %v: %v", time.Since(began), err)
		if !errors.Is(err, producer.ErrTopicRecreated) || time.Since(began) > 10*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// a mark whose Checkpoint is asked for long after.
func TestLaneFaultTakenIsWhenMarkWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		for i := range 5 {
			l.Produce(t.Context(), numbered(i), nil)
		}
		m, err := l.Mark(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := 5; i < 10; i++ {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Hour) // quiet, and the broker forgets
		if err := c.ForgetProducers("t", 0); err != nil {
			t.Fatal(err)
		}
		cp, err := m.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		end(t, p)
		l, err = newProducer(t, c, nil).Resume(t.Context(), cp)
		if err != nil {
			t.Logf("refused, as it should: %v", err)
			return
		}
		for i := 5; i < 12; i++ {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		wantCount(t, c, 0, 12)
	})
}

// Resume and the end of the producer.
func TestLaneFaultResumeAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		l.Produce(t.Context(), numbered(0), nil)
		cp, err := l.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.Stop(0)
		p2 := newProducer(t, c, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var wg sync.WaitGroup
		began := time.Now()
		wg.Go(func() {
			_, err := p2.Resume(ctx, cp)
			t.Logf("Resume after %v: %v", time.Since(began), err)
			if time.Since(began) > time.Minute {
				t.Error("Resume outlives the producer")
			}
		})
		time.Sleep(time.Second)
		end(t, p2)
		wg.Wait()
	})
}

// a lane fails while a batch is with the encoder and nobody leads.
type sleepyCodec struct{ d time.Duration }

func (sleepyCodec) ID() int16 { return 1 }
func (s sleepyCodec) Compress(dst, src []byte) ([]byte, error) {
	time.Sleep(s.d)
	return append(dst, src...), nil
}

func TestLaneFaultAbortWhileEncoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, func(c *config.Config) { c.MetadataMaxAge = 100 * time.Millisecond })
		producer.SetCompressor(p, sleepyCodec{2 * time.Second})
		l := p.Lane()
		if _, err := l.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Fatal(err)
		}
		c.OnResponse(func(r *producertest.Response) {
			if m, ok := r.Message.(*kmsg.MetadataResponse); ok {
				for i := range m.Topics {
					for j := range m.Topics[i].Partitions {
						m.Topics[i].Partitions[j].Leader = -1
						m.Topics[i].Partitions[j].ErrorCode = 5
						m.Topics[i].Partitions[j].LeaderEpoch = 50
					}
				}
			}
		})
		l.Produce(t.Context(), numbered(1), nil)
		time.Sleep(time.Second)
		t.Logf("%+v", p.Stats().Partitions)
		l.Abort()
		began := time.Now()
		_ = l.Flush(t.Context())
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("flush of an aborted lane took %v", took)
		}
	})
}

var _ = fmt.Sprint

// a lane's record that was never sent has no reason when its time is over.
func TestLaneFaultNoReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		if _, err := l.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Fatal(err)
		}
		c.Stop(0)
		_, err := l.ProduceSync(t.Context(), numbered(1))
		var re *producer.RecordError
		errors.As(err, &re)
		if !errors.Is(err, producer.ErrDeliveryTimeout) || re.Err == nil {
			t.Errorf("%v", err)
		}
		t.Log(l.Err())
	})
}

// two topics at once, and one lane.
func TestLaneFaultOneIDForALane(t *testing.T) {
	cc := producertest.Config{InMemory: true, Topics: map[string]int32{"t": 1, "u": 1, "v": 1, "w": 1}}
	c := newCluster(t, cc)
	var ids atomic.Int32
	c.OnResponse(func(r *producertest.Response) {
		if _, ok := r.Message.(*kmsg.InitProducerIDResponse); ok {
			ids.Add(1)
		}
	})
	p := newProducer(t, c, nil)
	if _, err := p.ProduceSync(t.Context(), numbered(0)); err != nil {
		t.Fatal(err)
	}
	before := ids.Load()
	const n = 300
	var wg sync.WaitGroup
	for range n {
		l := p.Lane()
		wg.Go(func() { l.Produce(t.Context(), producer.Record{Topic: "t"}, nil) })
		wg.Go(func() { l.Produce(t.Context(), producer.Record{Topic: "u"}, nil) })
		wg.Go(func() { l.Produce(t.Context(), producer.Record{Topic: "v"}, nil) })
		wg.Go(func() { l.Produce(t.Context(), producer.Record{Topic: "w"}, nil) })
		if l.Err() != nil {
			t.Error(l.Err())
		}
	}
	wg.Wait()
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d producer ids for %d lanes", ids.Load()-before, n)
	if ids.Load()-before != n {
		t.Fail()
	}
}

// what comes of two IDs.
func TestLaneFaultTwoIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(2))
		p := newProducer(t, c, nil)
		on := func(i int, part int32) producer.Record {
			r := numbered(i)
			r.Partition = producer.On(part)
			return r
		}
		l := p.Lane()
		for i := range 5 {
			l.Produce(t.Context(), on(i, 0), nil)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		producer.LateRenew(l) // the second goroutine of TestLaneFaultOneIDForALane
		time.Sleep(time.Second)
		cp, err := l.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := 5; i < 10; i++ {
			l.Produce(t.Context(), on(i, 0), nil)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		end(t, p)
		l, err = newProducer(t, c, nil).Resume(t.Context(), cp)
		if err != nil {
			t.Fatal(err)
		}
		for i := 5; i < 12; i++ {
			l.Produce(t.Context(), on(i, 0), nil)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		wantCount(t, c, 0, 12)
	})
}

// the first request of a lane is lost.
func TestLaneFaultFirstRequestLost(t *testing.T) {
	for name, fault := range map[string]producertest.Fault{"cut": producertest.Cut()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, topics(1))
				p := newProducer(t, c, nil)
				n := 0
				c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
					if n++; n == 1 {
						return fault
					}
					return producertest.Fault{}
				})
				l := p.Lane()
				began := time.Now()
				_, err := l.ProduceSync(t.Context(), numbered(0))
				if err != nil {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
			})
		})
	}
}
