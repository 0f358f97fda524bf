package producer_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// K17: after Close everything fails at once with ErrClosed, through the same
// callbacks, and Flush returns.
func TestK17AfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(2), nil)
		for range 10 {
			r.produce(t.Context(), producer.Record{}, 10)
		}
		if err := r.p.Close(r.within(time.Minute)); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		for _, topic := range []string{"t", "never seen"} {
			n := r.produce(context.Background(), producer.Record{Topic: topic}, 10)
			synctest.Wait()
			if res := r.result(n); res.Outcome != producer.NotWritten || !errors.Is(res.Err, producer.ErrClosed) {
				t.Errorf("Produce: %+v", res)
			}
			if res, err := r.sync(context.Background(), producer.Record{Topic: topic}, 10); res.Outcome != producer.NotWritten || !errors.Is(err, producer.ErrClosed) {
				t.Errorf("ProduceSync: %+v", res)
			}
			if err := r.try(producer.Record{Topic: topic}, 10); !errors.Is(err, producer.ErrClosed) {
				t.Errorf("TryProduce: %v", err)
			}
		}
		r.flush(time.Minute)
		if err := r.p.Ping(r.within(time.Minute)); !errors.Is(err, producer.ErrClosed) {
			t.Errorf("Ping: %v", err)
		}
		if d := time.Since(begun); d != 0 {
			t.Errorf("took %v", d)
		}
		if sum := r.judgeClosed(); sum != (tally{10, 4, 0, 2}) {
			t.Errorf("%+v", sum)
		}
	})
}

// K17: no record is lost between a Produce and a Close that overlap.
func TestK17CloseDuringProduce(t *testing.T) {
	for range 30 {
		r := newRig(t, producertest.Config{InMemory: true, Topics: map[string]int32{"t": 3, "u": 1}}, func(c *config.Config) {
			c.BatchBytes, c.BufferBytes = 1000, 3000
		})
		r.unordered = true
		produce := []func(rec producer.Record){
			func(rec producer.Record) { r.produce(context.Background(), rec, 100) },
			func(rec producer.Record) { r.sync(context.Background(), rec, 100) },
			func(rec producer.Record) { _ = r.try(rec, 100) },
		}
		var running sync.WaitGroup
		for i := range 6 {
			running.Go(func() {
				for range 100 {
					produce[i%3](producer.Record{Topic: []string{"t", "u"}[i/3]})
				}
			})
		}
		for range rand.IntN(1000) {
			runtime.Gosched()
		}
		if err := r.p.Close(r.within(time.Minute)); err != nil {
			t.Fatal(err)
		}
		running.Wait()
		r.flush(time.Minute) // the callbacks of what came too late
		if sum := r.judgeClosed(); sum.unknown > 0 {
			t.Errorf("%+v", sum)
		}
	}
}

// K18: when Close returns, all callbacks have run.
func TestK18CloseRunsCallbacksFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(3), func(c *config.Config) { c.Linger = time.Hour; c.DeliveryTimeout = 2 * time.Hour })
		r.c.OnResponse(func(resp *producertest.Response) { resp.Delay = 100 * time.Millisecond })
		for range 100 {
			r.produce(t.Context(), producer.Record{}, 10)
		}
		if err := r.p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r.done() != 100 {
			t.Errorf("%d callbacks have run", r.done())
		}
		if sum := r.judgeClosed(); sum.written != 100 {
			t.Errorf("%+v %v", sum, r.firstError())
		}
	})
}

// K18: the cluster is gone. Close ends with its context, and by then each
// record has an outcome: Unknown if it was sent, else NotWritten.
func TestK18CloseWithoutCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		r.sync(t.Context(), producer.Record{}, 10)
		never := make(chan struct{})
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(never) })
		sent := r.produce(t.Context(), producer.Record{}, 10)
		time.Sleep(time.Second)
		if err := r.c.Stop(0); err != nil {
			t.Fatal(err)
		}
		kept := r.produce(t.Context(), producer.Record{}, 10)
		early := r.produce(t.Context(), producer.Record{Topic: "u"}, 10)
		begun := time.Now()
		if err := r.p.Close(r.within(3 * time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		if d := time.Since(begun); d != 3*time.Second {
			t.Errorf("took %v", d)
		}
		for n, want := range map[int]producer.Outcome{sent: producer.Unknown, kept: producer.NotWritten, early: producer.NotWritten} {
			if res := r.result(n); res.Outcome != want || !errors.Is(res.Err, producer.ErrClosed) {
				t.Errorf("record %d: %+v", n, res)
			}
		}
		close(never)
		synctest.Wait()
		r.judgeClosed()
	})
}

// K48: Close wakes everyone who waits for room, while the broker is silent.
func TestK48CloseWakesBlockedCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) {
			c.BatchBytes, c.BufferBytes, c.MaxBlock = 1000, 1000, config.Unbounded
		})
		r.unordered = true
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(nil) })
		first := r.produce(t.Context(), producer.Record{}, 800)
		var blocked sync.WaitGroup
		for range 10 {
			blocked.Go(func() { r.produce(context.Background(), producer.Record{}, 800) })
		}
		synctest.Wait()
		if n := r.p.Stats().Blocked; n != 10 {
			t.Fatalf("%d callers wait", n)
		}
		begun := time.Now()
		closed := make(chan error, 1)
		go func() { closed <- r.p.Close(r.within(time.Second)) }()
		blocked.Wait()
		synctest.Wait()
		if d := time.Since(begun); d != 0 {
			t.Errorf("they were woken after %v", d)
		}
		if err := <-closed; !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("close: %v after %v", err, time.Since(begun))
		}
		for n := range r.entries {
			want := producer.NotWritten
			if n == first {
				want = producer.Unknown
			}
			if res := r.result(n); res.Outcome != want || !errors.Is(res.Err, producer.ErrClosed) {
				t.Errorf("record %d: %+v", n, res)
			}
		}
		r.judgeClosed()
	})
}

// Close ends with its context also while a write is stuck, because the broker
// reads nothing (guarantee 5).
func TestCloseDuringStuckWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) { c.RequestTimeout = time.Minute })
		r.sync(t.Context(), producer.Record{}, 10)
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(nil) })
		r.produce(t.Context(), producer.Record{}, 100)
		for range 64 { // far more than the connection's buffers hold
			r.produce(t.Context(), producer.Record{}, 100<<10)
		}
		begun := time.Now()
		if err := r.p.Close(r.within(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		if d := time.Since(begun); d != time.Second {
			t.Errorf("took %v", d)
		}
		r.judgeClosed()
	})
}

// Ping, Flush and Produce that wait for something end when the producer does.
func TestCloseEndsEveryWait(t *testing.T) {
	for name, end := range map[string]func(p *producer.Producer){
		"close": func(p *producer.Producer) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			p.Close(ctx)
		},
		"abort": func(p *producer.Producer) { p.Abort() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newSpoiltRig(t, topics(1), func(c *producertest.Cluster) { c.Stop(0) }, nil)
				n := r.produce(t.Context(), producer.Record{}, 10)
				var waiting sync.WaitGroup
				waiting.Go(func() {
					if err := r.p.Ping(context.Background()); !errors.Is(err, producer.ErrClosed) {
						t.Errorf("ping: %v", err)
					}
				})
				waiting.Go(func() {
					if err := r.p.Flush(context.Background()); err != nil {
						t.Errorf("flush: %v", err)
					}
				})
				waiting.Go(func() {
					if _, err := r.p.ProduceSync(context.Background(), producer.Record{Topic: "u"}); !errors.Is(err, producer.ErrClosed) {
						t.Errorf("sync: %v", err)
					}
				})
				synctest.Wait()
				end(r.p)
				waiting.Wait()
				if res := r.result(n); res.Outcome != producer.NotWritten {
					t.Errorf("%+v", res)
				}
			})
		})
	}
}

// The same for a Ping alone, when there is nothing else that could wake it.
func TestCloseEndsPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSpoiltRig(t, topics(1), func(c *producertest.Cluster) { c.Stop(0) }, nil)
		pinged := make(chan error, 1)
		go func() { pinged <- r.p.Ping(context.Background()) }()
		time.Sleep(time.Second)
		if err := r.p.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-pinged; !errors.Is(err, producer.ErrClosed) {
			t.Errorf("ping: %v", err)
		}
	})
}

// Closing twice, from several goroutines, waits for the same end each time.
func TestCloseTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		r.c.OnResponse(func(resp *producertest.Response) { resp.Delay = time.Second })
		r.produce(t.Context(), producer.Record{}, 10)
		var closing sync.WaitGroup
		for range 5 {
			closing.Go(func() {
				if err := r.p.Close(context.Background()); err != nil {
					t.Errorf("close: %v", err)
				}
				if r.done() != 1 {
					t.Error("close returned before the callback ran")
				}
			})
		}
		synctest.Wait()
		if err := r.p.Close(r.within(time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a close with another context: %v", err)
		}
		closing.Wait()
		if err := r.p.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
		if sum := r.judgeClosed(); sum.written != 1 {
			t.Errorf("%+v", sum)
		}
	})
}

// Abort cuts a Close short: it returns with all outcomes told.
func TestAbortDuringClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		r.sync(t.Context(), producer.Record{}, 10)
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(nil) })
		r.produce(t.Context(), producer.Record{}, 10)
		closed := make(chan error, 1)
		go func() { closed <- r.p.Close(context.Background()) }()
		time.Sleep(time.Second)
		begun := time.Now()
		r.p.Abort()
		r.p.Abort()
		if err := <-closed; err != nil {
			t.Errorf("close: %v", err)
		}
		if d := time.Since(begun); d != 0 {
			t.Errorf("took %v", d)
		}
		if sum := r.judgeClosed(); sum != (tally{written: 1, unknown: 1}) {
			t.Errorf("%+v", sum)
		}
	})
}

// A callback that does not return holds up Close only as long as its context
// says, and what is behind it is told once it does return.
func TestCloseWithBlockedCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		block := make(chan struct{})
		n, rec := r.enter(producer.Record{}, 10)
		r.p.Produce(t.Context(), rec, func(res producer.Result) { <-block; r.note(n, res) })
		r.produce(t.Context(), producer.Record{}, 10)
		if err := r.p.Close(r.within(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		close(block)
		if err := r.p.Close(r.within(time.Second)); err != nil {
			t.Errorf("close: %v", err)
		}
		if sum := r.judgeClosed(); sum.written != 2 {
			t.Errorf("%+v", sum)
		}
	})
}

// K66: open, produce and close, again and again, also while dialling, while
// authenticating and during backoff. What is left over fails the bubble.
func TestK66NothingIsLeft(t *testing.T) {
	for name, spoil := range map[string]func(r *rig){
		"well":  func(*rig) {},
		"dial":  func(r *rig) { r.c.Stop(0) },
		"login": func(r *rig) { r.c.OnResponse(func(resp *producertest.Response) { resp.Withhold = true }) },
		"cut":   func(r *rig) { r.c.OnResponse(func(resp *producertest.Response) { resp.CutAfter = 2 }) },
		"refuse": func(r *rig) {
			r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Refuse(6) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 40 {
				synctest.Test(t, func(t *testing.T) {
					cc := topics(1)
					cc.Users = map[string]string{"u": "p"}
					r := newRig(t, cc, func(c *config.Config) {
						c.SecurityProtocol = config.ProtocolSASLPlaintext
						c.SASLMechanism, c.AllowPlaintextPasswords = config.MechanismPlain, true
						c.SASLUsername, c.SASLPassword = "u", config.NewSecret("p")
					})
					spoil(r)
					r.produce(t.Context(), producer.Record{}, 10)
					time.Sleep(rand.N(3 * time.Second))
					err := r.p.Close(r.within(rand.N(3 * time.Second)))
					if err != nil && (name == "well" || !errors.Is(err, context.DeadlineExceeded)) {
						t.Errorf("close: %v", err)
					}
					r.judgeClosed()
				})
			}
		})
	}
}

// K18: with its context over, Close waits as long as callbacks come to an end, those
// of one batch too.
func TestK18CloseWaitsWhileCallbacksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		const n = 1000
		done := 0
		for range n {
			r.produceWith(t.Context(), producer.Record{Partition: producer.On(0)}, 10, func(producer.Result) {
				time.Sleep(time.Millisecond)
				done++
			})
		}
		time.Sleep(20 * time.Millisecond)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err := r.p.Close(ctx)
		got := r.done()
		if got < n {
			t.Errorf("Close returned (%v) after %d of %d callbacks, none of which takes 100 ms", err, got, n)
		}
		time.Sleep(10 * time.Second)
	})
}
