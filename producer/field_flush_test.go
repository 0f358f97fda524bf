package producer_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// K10: the last buffered record completes at the moment at which a caller who
// waits for room gives up. Flush must not sleep through both.
func TestK10FlushAndCancelAtOnce(t *testing.T) {
	const rounds = 500
	r := newRig(t, topics(1), func(c *config.Config) {
		c.BatchBytes, c.BufferBytes, c.Linger = 600, 600, 0
	})
	var gate chan struct{}
	var mu sync.Mutex
	r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
		mu.Lock()
		defer mu.Unlock()
		return producertest.Hold(gate)
	})
	for range rounds {
		mu.Lock()
		gate = make(chan struct{})
		mu.Unlock()
		r.produce(t.Context(), producer.Record{}, 400)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.produce(ctx, producer.Record{}, 400) })
		for r.p.Stats().Blocked == 0 {
			runtime.Gosched() // the caller is on its way to the queue
		}
		flushed := make(chan error, 1)
		running.Go(func() { flushed <- r.p.Flush(r.within(time.Minute)) })
		running.Go(func() { close(gate) })
		running.Go(cancel)
		running.Wait()
		if err := <-flushed; err != nil {
			t.Fatal(err)
		}
		r.flush(time.Minute) // the second record may have got its place
	}
	if sum := r.judge(); sum.written < rounds || sum.unknown > 0 {
		t.Errorf("%+v", sum)
	}
}

// K10: a flush returns when the records that came before it have their
// outcome, whichever it is, and whoever produces meanwhile.
func TestK10FlushIsNotStarved(t *testing.T) {
	r := newRig(t, topics(4), func(c *config.Config) { c.Linger = time.Hour; c.DeliveryTimeout = 3 * time.Hour })
	r.unordered = true
	stop := make(chan struct{})
	var producing sync.WaitGroup
	for range 4 {
		producing.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					r.produce(t.Context(), producer.Record{}, 100)
				}
			}
		})
	}
	for r.count() < 20_000 {
		before := r.count()
		r.flush(time.Minute)
		if before > 8 && r.done() < before-8 { // some are numbered, and not yet handed over
			t.Errorf("flushed, and of %d records only %d have an outcome", before, r.done())
		}
	}
	close(stop)
	producing.Wait()
	if sum := r.judge(); sum.written != len(r.entries) {
		t.Errorf("%+v", sum)
	}
}

// K10: callbacks are slower than records come, so that there is always one to
// run. A flush waits for those before it, and for no others.
func TestK10FlushIsNotStarvedByCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(2), func(c *config.Config) { c.Linger = 0 })
		ctx, cancel := context.WithCancel(t.Context())
		var producing sync.WaitGroup
		for i := range int32(2) {
			producing.Go(func() {
				for ctx.Err() == nil {
					n, rec := r.enter(producer.Record{Partition: producer.On(i)}, 10)
					r.p.Produce(context.Background(), rec, func(res producer.Result) {
						time.Sleep(time.Millisecond)
						r.note(n, res)
					})
					time.Sleep(900 * time.Microsecond)
				}
			})
		}
		for range 2 {
			time.Sleep(200 * time.Millisecond)
			begun := time.Now()
			behind := r.count() - r.done()
			r.flush(time.Hour)
			if d := time.Since(begun); d > time.Duration(2*behind+10)*time.Millisecond {
				t.Errorf("took %v, for %d callbacks of 1 ms", d, behind)
			}
		}
		cancel()
		producing.Wait()
		r.judge()
	})
}

// K30: Flush, Close, a full buffer and a sync write do not wait for linger.
func TestK30LingerIsCutShort(t *testing.T) {
	const linger = 20 * time.Second
	slow := func(c *config.Config) {
		c.Linger = linger
		c.BatchBytes, c.BufferBytes = 1000, 1000
	}
	for name, act := range map[string]func(r *rig){
		"flush": func(r *rig) { r.produce(r.t.Context(), producer.Record{}, 10); r.flush(time.Minute) },
		"close": func(r *rig) { r.produce(r.t.Context(), producer.Record{}, 10); r.judge() },
		"sync":  func(r *rig) { r.sync(r.t.Context(), producer.Record{}, 10) },
		"full buffer": func(r *rig) {
			r.produce(r.t.Context(), producer.Record{}, 600)
			r.sync(r.t.Context(), producer.Record{}, 600)
		},
		"flush of several": func(r *rig) {
			for range 8 {
				r.produce(r.t.Context(), producer.Record{}, 10)
			}
			r.flush(time.Minute)
		},
		"second flush": func(r *rig) {
			for range 3 {
				r.produce(r.t.Context(), producer.Record{}, 10)
				r.flush(time.Minute)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, topics(2), slow)
				// First, so that the topic is known: records that wait for that do
				// not linger either.
				r.sync(t.Context(), producer.Record{}, 10)
				begun := time.Now()
				act(r)
				if d := time.Since(begun); d > time.Second {
					t.Errorf("took %v", d)
				}
				if r.done() != len(r.entries) {
					t.Errorf("%d of %d records have an outcome", r.done(), len(r.entries))
				}
				r.judge()
			})
		})
	}
}

// K30: without any of these linger is kept, to the millisecond.
func TestK30LingerIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) { c.Linger = 20 * time.Second })
		r.sync(t.Context(), producer.Record{}, 10)
		begun := time.Now()
		var took time.Duration
		n, rec := r.enter(producer.Record{}, 10)
		r.p.Produce(t.Context(), rec, func(res producer.Result) { took = time.Since(begun); r.note(n, res) })
		time.Sleep(time.Minute)
		synctest.Wait()
		if took != 20*time.Second {
			t.Errorf("written after %v", took)
		}
		r.judge()
	})
}

// K58: with defaults a sync write takes a round trip, not a timer.
func TestK58SyncWriteTakesNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(3), nil)
		r.sync(t.Context(), producer.Record{}, 10) // learns the cluster
		for range 100 {
			begun := time.Now()
			if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(begun); d != 0 {
				t.Fatalf("took %v of virtual time", d)
			}
		}
		r.judge()
	})
}

// K58: 0 means 0.
func TestK58NoLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(3), func(c *config.Config) { c.Linger = 0 })
		r.sync(t.Context(), producer.Record{}, 10)
		for range 100 {
			begun := time.Now()
			n := r.produce(t.Context(), producer.Record{}, 10)
			synctest.Wait()
			if len(r.results(n)) != 1 || time.Since(begun) != 0 {
				t.Fatalf("%d results after %v", len(r.results(n)), time.Since(begun))
			}
		}
		r.judge()
	})
}

// Guarantee 5: Flush returns with its context while a callback blocks, and the
// callbacks behind that one run later.
func TestFlushWithBlockedCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		block := make(chan struct{})
		n, rec := r.enter(producer.Record{}, 10)
		r.p.Produce(t.Context(), rec, func(res producer.Result) { <-block; r.note(n, res) })
		behind := r.produce(t.Context(), producer.Record{}, 10)
		begun := time.Now()
		if err := r.p.Flush(r.within(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("flush: %v", err)
		}
		if d := time.Since(begun); d != time.Second {
			t.Errorf("took %v", d)
		}
		if len(r.results(behind)) != 0 {
			t.Error("callbacks overtook each other")
		}
		close(block)
		r.flush(time.Second)
		if sum := r.judge(); sum.written != 2 {
			t.Errorf("%+v", sum)
		}
	})
}

// An ended flush leaves linger as it was.
func TestFlushEndsItsHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) { c.Linger = 20 * time.Second })
		r.sync(t.Context(), producer.Record{}, 10)
		hold := make(chan struct{})
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(hold) })
		r.produce(t.Context(), producer.Record{}, 10)
		if err := r.p.Flush(r.within(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("flush: %v", err)
		}
		close(hold)
		r.flush(time.Second)
		n := r.produce(t.Context(), producer.Record{}, 10)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(r.results(n)) != 0 {
			t.Error("the record did not linger")
		}
		r.judge()
	})
}
