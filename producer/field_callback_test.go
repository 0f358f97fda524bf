package producer_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// produceWith is produce with something more for the callback to do, after the
// result was noted.
func (r *rig) produceWith(ctx context.Context, rec producer.Record, size int, more func(producer.Result)) int {
	n, rec := r.enter(rec, size)
	r.p.Produce(ctx, rec, func(res producer.Result) {
		r.note(n, res)
		more(res)
	})
	return n
}

// K20: a callback produces again, thousands of times, to a buffer that is full: each
// way to do it comes back, and each record has its one outcome.
func TestK20ProduceInCallbacks(t *testing.T) {
	most := map[string]int{"TryProduce": 10_000}
	for name, again := range map[string]func(r *rig){
		"TryProduce":         func(r *rig) { _ = r.try(producer.Record{}, 50) },
		"Produce":            func(r *rig) { r.produce(context.Background(), producer.Record{}, 50) },
		"Produce and cancel": func(r *rig) { r.produce(r.within(time.Millisecond), producer.Record{}, 50) },
		"Produce, refused":   func(r *rig) { r.produce(context.Background(), producer.Record{Partition: producer.On(-1)}, 50) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, topics(2), func(c *config.Config) {
					c.BatchBytes, c.BufferBytes, c.Linger = 1000, 2000, 0
					c.MaxBlock = config.Unbounded
				})
				r.unordered = true // what a callback produces is numbered before others that overtake it
				n := max(2000, most[name])
				for range n {
					r.produceWith(t.Context(), producer.Record{}, 50, func(producer.Result) { again(r) })
				}
				if sum := r.judge(); sum.written < n {
					t.Errorf("%+v", sum)
				}
			})
		})
	}
}

// K20: what would wait for the callback itself says so, and does nothing else.
func TestK20WaitingInCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		r.produceWith(t.Context(), producer.Record{}, 10, func(producer.Result) {
			ctx := context.Background()
			if err := r.p.Flush(ctx); !errors.Is(err, producer.ErrInCallback) {
				t.Errorf("Flush: %v", err)
			}
			if err := r.p.Close(ctx); !errors.Is(err, producer.ErrInCallback) {
				t.Errorf("Close: %v", err)
			}
			if res, err := r.sync(ctx, producer.Record{}, 10); !errors.Is(err, producer.ErrInCallback) || res.Outcome != producer.NotWritten {
				t.Errorf("ProduceSync: %+v", res)
			}
			if all := r.p.ProduceAll(ctx, producer.Record{Topic: "t"}, producer.Record{Topic: "t"}); len(all) != 2 || !errors.Is(all.Err(), producer.ErrInCallback) {
				t.Errorf("ProduceAll: %+v", all)
			}
		})
		r.flush(time.Minute)
		n := r.produce(t.Context(), producer.Record{}, 10)
		r.flush(time.Minute)
		if res := r.result(n); res.Outcome != producer.Written {
			t.Errorf("afterwards: %+v", res)
		}
	})
}

// K20: a callback ends the producer; the callbacks behind it still run.
func TestK20AbortInCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		r.c.OnResponse(func(resp *producertest.Response) { resp.Delay = time.Second })
		r.produceWith(t.Context(), producer.Record{}, 10, func(producer.Result) { r.p.Abort() })
		for range 100 {
			r.produce(t.Context(), producer.Record{}, 10)
		}
		r.flush(time.Minute)
		r.judge()
	})
}

// Guarantee 6: a callback waits in Produce for room that only the broker's
// answers can make: they are read all the same.
func TestBlockedCallbackDoesNotStallSockets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(2), func(c *config.Config) {
			c.BatchBytes, c.BufferBytes, c.Linger, c.MaxBlock = 1000, 1000, 0, config.Unbounded
		})
		hold := make(chan struct{})
		r.produceWith(t.Context(), producer.Record{Partition: producer.On(0)}, 100, func(producer.Result) {
			r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(hold) })
			r.produce(context.Background(), producer.Record{Partition: producer.On(1)}, 800)
			time.AfterFunc(time.Second, func() { close(hold) })
			r.produce(context.Background(), producer.Record{Partition: producer.On(1)}, 800) // waits
		})
		r.flush(time.Minute)
		if sum := r.judge(); sum.written != 3 {
			t.Errorf("%+v", sum)
		}
	})
}

// K37: a callback that panics, or ends its goroutine as t.FailNow does, is
// reported, and harms no other. All kinds of callbacks: of records that are
// written, of ones that are refused, and of the last one before the end.
func TestK37CallbacksThatDoNotReturn(t *testing.T) {
	for name, leave := range map[string]func(){
		"panic":         func() { panic("a bug of the application") },
		"nil panic":     func() { panic(nil) },
		"Goexit":        runtime.Goexit,
		"runtime error": func() { _ = map[string][]int{}["x"][3] },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logged bytes.Buffer
				r := newRig(t, topics(2), func(c *config.Config) {
					c.Logger = slog.New(slog.NewTextHandler(&logged, nil))
				})
				const n = 10
				for range n {
					r.produce(t.Context(), producer.Record{Partition: producer.On(0)}, 10)
					r.produceWith(t.Context(), producer.Record{Partition: producer.On(0)}, 10, func(producer.Result) { leave() })
					r.produceWith(t.Context(), producer.Record{Partition: producer.On(1)}, 10, func(producer.Result) { leave() })
					r.produce(t.Context(), producer.Record{Partition: producer.On(-1)}, 10)
					r.produceWith(t.Context(), producer.Record{Partition: producer.On(-1)}, 10, func(producer.Result) { leave() })
				}
				r.flush(time.Minute)
				for range n {
					r.produceWith(t.Context(), producer.Record{}, 10, func(producer.Result) { leave() })
				}
				if sum := r.judge(); sum != (tally{written: 4 * n, notWritten: 2 * n}) {
					t.Errorf("%+v", sum)
				}
				if got := r.p.Stats().CallbackPanics; got != 4*n {
					t.Errorf("%d are counted", got)
				}
				if lines := strings.Count(logged.String(), "delivery callback"); lines != 4*n {
					t.Errorf("%d are logged", lines)
				}
				late := r.produceWith(t.Context(), producer.Record{}, 10, func(producer.Result) { leave() })
				r.flush(time.Minute)
				if res := r.result(late); !errors.Is(res.Err, producer.ErrClosed) {
					t.Errorf("%+v", res)
				}
			})
		})
	}
}

// K37: a callback that does not come back holds up other callbacks, but neither
// the records nor those who wait with a context.
func TestK37CallbackThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(2), nil)
		block := make(chan struct{})
		r.produceWith(t.Context(), producer.Record{}, 10, func(producer.Result) { <-block })
		time.Sleep(time.Second)
		for range 1000 {
			r.produce(t.Context(), producer.Record{}, 10)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s := r.p.Stats(); s.Written != 1001 || s.BufferedBytes != 0 {
			t.Errorf("%+v", s)
		}
		if err := r.p.Close(r.within(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		close(block)
		if sum := r.judge(); sum.written != 1001 {
			t.Errorf("%+v", sum)
		}
	})
}

// Guarantee 3: callbacks come one at a time, those of a partition in the order
// of its records, also when they fail.
func TestCallbacksComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(3), func(c *config.Config) { c.BatchBytes = 500 })
		refuse := 0
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			if refuse++; refuse%5 == 0 {
				return producertest.Refuse(87)
			}
			return producertest.Fault{}
		})
		var mu sync.Mutex
		last := map[int32]int{}
		for i := range 3000 {
			p := int32(i % 3)
			r.produceWith(t.Context(), producer.Record{Partition: producer.On(p)}, 20, func(producer.Result) {
				if !mu.TryLock() {
					t.Error("two callbacks at once")
					return
				}
				defer mu.Unlock()
				if i < last[p] {
					t.Errorf("record %d behind %d", i, last[p])
				}
				last[p] = i
			})
		}
		if sum := r.judge(); sum.written == 0 || sum.notWritten == 0 || sum.unknown > 0 {
			t.Errorf("%+v", sum)
		}
	})
}

// K37: the callback of a refusal, the last there is, ends its goroutine. Who waits
// in Flush for it is woken all the same.
func TestK37GoexitInTheLastRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		r.sync(t.Context(), producer.Record{}, 10)
		go1 := make(chan struct{})
		r.produceWith(t.Context(), producer.Record{Partition: producer.On(-1)}, 10, func(producer.Result) {
			<-go1
			runtime.Goexit()
		})
		time.Sleep(time.Second)
		done := make(chan error, 1)
		go func() { done <- r.p.Flush(r.within(30 * time.Second)) }()
		synctest.Wait()
		close(go1)
		if err := <-done; err != nil {
			t.Errorf("flush: %v", err)
		}
		r.judge()
	})
}
