package producer_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Lane.Close waits for all that the lane has accepted, also for a record whose
// topic and producer ID are not known yet.
func TestLaneCloseKeepsAcceptedRecords(t *testing.T) {
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

// A lane takes no record after Close, also where Close meets the moment in
// which the topic becomes known and waiting records move into partitions that
// are made just then.
func TestLaneTakesNothingAfterClose(t *testing.T) {
	c := newCluster(t, producertest.Config{InMemory: true, Topics: map[string]int32{"t": 1}})
	p := newProducer(t, c, func(c *config.Config) { c.DeliveryTimeout = 40 * time.Second })
	if _, err := p.ProduceSync(t.Context(), numbered(0)); err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for n := range 300 {
		l := p.Lane()
		for i := range 300 {
			l.Produce(t.Context(), numbered(i), nil)
		}
		time.Sleep(time.Duration(n%100) * 10 * time.Microsecond)
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
		done := make(chan producer.Result, 1)
		l.Produce(t.Context(), numbered(7), func(r producer.Result) { done <- r })
		select {
		case r := <-done:
			if !errors.Is(r.Err, producer.ErrClosed) && !errors.Is(r.Err, producer.ErrLaneFailed) {
				accepted++
				t.Logf("%d: a record after Close: %+v", n, r)
			}
		case <-time.After(hopeless):
			t.Errorf("%d: a record after Close has no callback: %s", n, producer.LaneState(l))
			return
		}
	}
	if accepted > 0 {
		t.Errorf("%d records were accepted after Close", accepted)
	}
}

// A record that comes after Close of its lane has its callback all the same,
// and its memory is given back, also if the producer itself is closed in a
// hurry.
func TestRecordAfterLaneCloseHasItsCallback(t *testing.T) {
	c := newCluster(t, producertest.Config{InMemory: true, Topics: map[string]int32{"t": 1}})
	p := newProducer(t, c, nil)
	if _, err := p.ProduceSync(t.Context(), numbered(0)); err != nil {
		t.Fatal(err)
	}
	var lanes []*producer.Lane
	for n := range 200 {
		l := p.Lane()
		for i := range 300 {
			l.Produce(t.Context(), numbered(i), nil)
		}
		time.Sleep(time.Duration(n%100) * 10 * time.Microsecond)
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
		lanes = append(lanes, l)
	}
	never := make(chan struct{})
	defer close(never)
	c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(never) })
	var told callbacks
	for _, l := range lanes {
		l.Produce(t.Context(), numbered(7), told.next())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	t.Log("close:", p.Close(ctx))
	cancel()
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	told.await(t)
	if s := p.Stats(); s.BufferedBytes != 0 {
		t.Errorf("%d bytes in use", s.BufferedBytes)
	}
}

// Lanes are aborted, checkpointed and closed in the middle of everything, and
// the producer with them: each record has its callback once, and no memory
// stays in use.
func TestEveryRecordHasOneCallbackWhoeverCloses(t *testing.T) {
	for range 30 {
		c := newCluster(t, producertest.Config{InMemory: true, Topics: map[string]int32{"t": 8, "u": 8}})
		p := newProducer(t, c, nil)
		var wg sync.WaitGroup
		var told callbacks
		for range 8 {
			wg.Go(func() {
				for range 20 {
					l := p.Lane()
					for k := range 20 {
						rec := producer.Record{Topic: []string{"t", "u"}[k%2], Partition: producer.On(int32(k % 10)), Value: []byte("x")}
						l.Produce(context.Background(), rec, told.next())
						if k == 10 {
							switch rand.IntN(4) {
							case 0:
								l.Abort()
							case 1:
								go l.Checkpoint(context.Background())
							}
						}
					}
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(20))*time.Millisecond)
					_ = l.Close(ctx)
					cancel()
				}
			})
		}
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(50))*time.Millisecond)
		_ = p.Close(ctx)
		cancel()
		wg.Wait()
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		told.await(t)
		if s := p.Stats(); s.BufferedBytes != 0 {
			t.Errorf("%d bytes", s.BufferedBytes)
		}
	}
}

// A lane that is aborted while a batch of it is with the encoders is at its end
// when that is back, even if no broker leads the partition: no connection would
// come by to see to it.
func TestLaneAbortNeedsNoLeader(t *testing.T) {
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
