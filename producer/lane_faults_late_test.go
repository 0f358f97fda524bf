package producer_test

import (
	"context"
	"errors"
	"fmt"
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

// a broker that offers DescribeProducers and ends the connection (or says nothing) instead of an answer.
func TestLaneFaultQuestionsKill(t *testing.T) {
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

// sequences wrap in lanes that are resumed.
func TestLaneFaultResumeAroundTheWrap(t *testing.T) {
	for _, behind := range []int32{0, 1, 3, 4, 5, 7, 100} {
		t.Run(fmt.Sprint(behind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(behind), 5))
				c := newCluster(t, topics(1))
				p := newProducer(t, c, func(c *config.Config) { c.BatchBytes = 150 })
				l := p.Lane()
				cp, err := l.Checkpoint(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				cp.Partitions = []producer.PartitionCheckpoint{{Topic: "t", Next: 1<<31 - 1 - behind, Offset: -1}}
				at := 0
				for range 30 {
					end(t, p)
					p = newProducer(t, c, func(c *config.Config) { c.BatchBytes = 70 + rng.IntN(200) })
					if l, err = p.Resume(t.Context(), cp); err != nil {
						t.Fatalf("at %d: %v %+v", at, err, cp)
					}
					k := rng.IntN(6)
					for range k {
						l.Produce(t.Context(), numbered(at), nil)
						at++
					}
					got, err := l.Checkpoint(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					cp = got
					for i := range rng.IntN(6) {
						l.Produce(t.Context(), numbered(at+i), nil)
					}
					time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond)
				}
				end(t, p)
				p = newProducer(t, c, nil)
				if l, err = p.Resume(t.Context(), cp); err != nil {
					t.Fatal(err)
				}
				for ; at < 150; at++ {
					l.Produce(t.Context(), numbered(at), nil)
				}
				if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
					t.Fatal(err)
				}
				wantCount(t, c, 0, 150)
			})
		})
	}
}

// Lane.Close while the topic becomes known.
func TestLaneFaultProduceAfterLaneClose(t *testing.T) {
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
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := l.Close(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		done := make(chan producer.Result, 1)
		l.Produce(t.Context(), numbered(7), func(r producer.Result) { done <- r })
		select {
		case r := <-done:
			if !errors.Is(r.Err, producer.ErrClosed) && !errors.Is(r.Err, producer.ErrLaneFailed) {
				accepted++
				t.Logf("%d: a record after Close: %+v", n, r)
			}
		case <-time.After(2 * time.Second):
			t.Errorf("%d: a record after Close has no callback: %s", n, producer.LaneState(l))
			return
		}
	}
	if accepted > 0 {
		t.Errorf("%d records were accepted after Close", accepted)
	}
}

// audits one after the other; one broker does not answer, a lane on another one waits.
func TestLaneFaultAuditsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const parts = 24
		c := newCluster(t, producertest.Config{InMemory: true, Brokers: 2, Topics: map[string]int32{"t": parts}})
		setting := func(c *config.Config) { c.Linger = 0 }
		p := newProducer(t, c, setting)
		bad, good := p.Lane(), p.Lane()
		on := func(i int, part int32) producer.Record {
			r := numbered(i)
			r.Partition = producer.On(part)
			return r
		}
		var cps [2]producer.Checkpoint
		for i := range 20 {
			for part := int32(0); part < parts; part += 2 {
				bad.Produce(t.Context(), on(i, part), nil)
			}
			good.Produce(t.Context(), on(i, 1), nil)
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
				bad.Produce(t.Context(), on(i, part), nil)
			}
		}
		time.Sleep(time.Second)
		began := time.Now()
		var last producer.Result
		for i := 5; i < 10; i++ {
			good.Produce(t.Context(), on(i, 1), func(r producer.Result) { last = r })
		}
		_ = good.Flush(t.Context())
		t.Logf("partition 1 of a good broker after %v: %+v", time.Since(began), last)
		if last.Outcome != producer.Written {
			t.Fail()
		}
	})
}

// ... and has no callback.
func TestLaneFaultNoCallback(t *testing.T) {
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
	var mu sync.Mutex
	called := 0
	for _, l := range lanes {
		l.Produce(t.Context(), numbered(7), func(producer.Result) { mu.Lock(); called++; mu.Unlock() })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	t.Log("close:", p.Close(ctx))
	cancel()
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	if called != len(lanes) {
		t.Errorf("%d of %d records had a callback; %d bytes in use", called, len(lanes), p.Stats().BufferedBytes)
	}
}

// a lane that failed sends nothing, thousands of failing lanes do not harm.
func TestLaneFaultLanesAndCloseRace(t *testing.T) {
	for range 30 {
		c := newCluster(t, producertest.Config{InMemory: true, Topics: map[string]int32{"t": 8, "u": 8}})
		p := newProducer(t, c, nil)
		var wg sync.WaitGroup
		var mu sync.Mutex
		calls := map[int]int{}
		n := 0
		for range 8 {
			wg.Go(func() {
				for range 20 {
					l := p.Lane()
					for k := range 20 {
						mu.Lock()
						id := n
						n++
						mu.Unlock()
						l.Produce(context.Background(), producer.Record{Topic: []string{"t", "u"}[k%2], Partition: producer.On(int32(k % 10)), Value: []byte("x")}, func(producer.Result) {
							mu.Lock()
							calls[id]++
							mu.Unlock()
						})
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
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		for id := range n {
			if calls[id] != 1 {
				t.Errorf("record %d: %d callbacks", id, calls[id])
			}
		}
		mu.Unlock()
		if s := p.Stats(); s.BufferedBytes != 0 {
			t.Errorf("%d bytes", s.BufferedBytes)
		}
	}
}
