package producer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// K12: the broker is down and callers give up. A record that has its place in
// the order is not withdrawn: it is Unknown to who stopped waiting, and written
// later, once. What got no place is NotWritten, and is never in the log. The
// buffer bounds how many can be of the first kind.
func TestK12CallersGiveUpDuringOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers, fit = 1000, 100
		r := newRig(t, topics(1), func(c *config.Config) { c.BatchBytes, c.BufferBytes = 1000, fit*200 })
		r.unordered = true
		first, _ := r.sync(t.Context(), producer.Record{}, 10)
		if err := r.c.Stop(0); err != nil {
			t.Fatal(err)
		}
		var waiting sync.WaitGroup
		for range callers {
			waiting.Go(func() {
				begun := time.Now()
				res, err := r.sync(r.within(100*time.Millisecond), producer.Record{}, 130)
				if !errors.Is(err, context.DeadlineExceeded) || res.Outcome == producer.Written {
					t.Errorf("%+v", res)
				}
				if d := time.Since(begun); d != 100*time.Millisecond {
					t.Errorf("gave up after %v", d)
				}
			})
		}
		waiting.Wait()
		time.Sleep(10 * time.Second)
		if err := r.c.Start(0); err != nil {
			t.Fatal(err)
		}
		sum := r.judge()
		stored, err := r.c.Records("t", 0)
		if err != nil || first.Outcome != producer.Written {
			t.Fatal(err, first)
		}
		if sum.unknown < fit/2 || sum.unknown > fit || sum.notWritten != callers-sum.unknown || len(stored) != 1+sum.unknown {
			t.Errorf("%+v, %d in the log", sum, len(stored))
		}
	})
}

// K12: a context that has ended gets a record no place, also where there is
// room, so that the caller knows.
func TestK12EndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		res, err := r.sync(ctx, producer.Record{}, 10)
		if res.Outcome != producer.NotWritten || !errors.Is(err, context.Canceled) {
			t.Errorf("%+v", res)
		}
		n := r.produce(ctx, producer.Record{}, 10)
		r.flush(time.Minute)
		if res := r.result(n); res.Outcome != producer.NotWritten || !errors.Is(res.Err, context.Canceled) {
			t.Errorf("%+v", res)
		}
		r.judge()
	})
}

// K13: one large record leaves the buffer, and both small ones that wait for
// room get in.
func TestK13AllThatFitAreWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) {
			c.BatchBytes, c.BufferBytes, c.MaxBlock = 1000, 1000, config.Unbounded
		})
		r.unordered = true
		hold := make(chan struct{})
		r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.BaseSequence == 0 {
				return producertest.Hold(hold)
			}
			return producertest.Hold(nil)
		})
		r.produce(t.Context(), producer.Record{}, 900)
		var blocked sync.WaitGroup
		for range 2 {
			blocked.Go(func() { r.produce(context.Background(), producer.Record{}, 400) })
		}
		synctest.Wait()
		if n := r.p.Stats().Blocked; n != 2 {
			t.Fatalf("%d callers wait", n)
		}
		close(hold)
		blocked.Wait()
		r.c.OnProduce(nil)
		r.p.Abort()
		r.judge()
	})
}

// K14: sizes count headers and all else: no batch is over the limit that the
// broker shares, and every batch but the last is full.
func TestK14SizesCountHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 10_000
		cc := topics(1)
		cc.MaxMessageBytes = limit
		r := newRig(t, cc, func(c *config.Config) { c.BatchBytes, c.Linger = limit, time.Second })
		var sizes []int
		r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			sizes = append(sizes, a.Bytes)
			return producertest.Fault{}
		})
		for range 10 {
			r.produce(t.Context(), producer.Record{Headers: []producer.Header{
				{Key: "h", Value: make([]byte, 1000)}, {Key: "i", Value: make([]byte, 1000)},
			}}, 1)
		}
		if sum := r.judge(); sum.written != 10 {
			t.Errorf("%+v", sum)
		}
		if len(sizes) != 3 {
			t.Errorf("batches of %v bytes", sizes)
		}
		for _, n := range sizes {
			if n > limit {
				t.Errorf("a batch of %d bytes", n)
			}
		}
	})
}

// K14, K24: a record that fits no request fails at once, those beside it flow.
// The limit is exact: one byte less goes through.
func TestK14RecordAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 100_000
		cc := topics(1)
		cc.MaxRequestBytes = limit - 4 // the broker does not count the size field
		r := newRig(t, cc, func(c *config.Config) {
			c.MaxRequestBytes, c.BatchBytes, c.Linger = limit, limit/2, 0
			c.ClientID = "a client with a long name"
		})
		r.sync(t.Context(), producer.Record{}, 10)
		headers := []producer.Header{{Key: "h", Value: make([]byte, 20_000)}, {Key: "i"}}
		low, high := 1, limit // the smallest size that is refused
		for low < high {
			size := (low + high) / 2
			n := r.produce(t.Context(), producer.Record{Key: []byte("key"), Headers: headers}, size)
			behind := r.produce(t.Context(), producer.Record{}, 10)
			r.flush(time.Minute)
			if res := r.result(behind); res.Err != nil {
				t.Fatalf("behind %d bytes: %v", size, res.Err)
			}
			switch res := r.result(n); {
			case res.Err == nil:
				low = size + 1
			case errors.Is(res.Err, producer.ErrRecordTooLarge):
				high = size
			default:
				t.Fatalf("%d bytes: %v", size, res.Err)
			}
		}
		if low < limit-20_000-400 {
			t.Errorf("refused from %d bytes on, with %d in a request", low, limit)
		}
		if s := r.p.Stats(); s.Connections != 1 || s.Resends != 0 {
			t.Errorf("%+v", s)
		}
		r.judge()
	})
}

// K16: the caller's memory is the caller's again when a call returns, whatever
// it returned; what is sent later is what was given.
func TestK16MemoryIsTheCallersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := producertest.New(topics(1))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		begun := time.Now()
		cfg := config.Default()
		cfg.BootstrapServers, cfg.Dialer = c.Addrs(), c.Dial
		p, err := producer.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		hold := make(chan struct{})
		c.OnResponse(func(resp *producertest.Response) {
			if resp.Request.Key() == metadataAPI && time.Since(begun) < time.Second {
				resp.Delay = time.Second
			}
		})
		c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.FirstTime() {
				return producertest.Refuse(19).Hold(hold) // and so it is sent a second time
			}
			return producertest.Fault{}
		})
		key, value, header := []byte("key"), []byte("value"), []producer.Header{{Key: "h", Value: []byte("header")}}
		overwrite := func() {
			for _, b := range [][]byte{key, value, header[0].Value} {
				for i := range b {
					b[i] = 'X'
				}
			}
			header[0].Key = "X"
		}
		restore := func() {
			copy(key, "key")
			copy(value, "value")
			copy(header[0].Value, "header")
			header[0].Key = "h"
		}
		rec := producer.Record{Topic: "t", Key: key, Value: value, Headers: header}
		for range 3 { // the first waits for its topic, the others are in a batch
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, err := p.ProduceSync(ctx, rec); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			cancel()
			overwrite()
			time.Sleep(time.Second)
			restore()
			p.Produce(t.Context(), rec, nil)
			overwrite()
			time.Sleep(time.Second)
			restore()
		}
		overwrite()
		close(hold)
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		recs, err := c.Records("t", 0)
		if err != nil || len(recs) != 6 {
			t.Fatalf("%d records, %v", len(recs), err)
		}
		for _, rec := range recs {
			if string(rec.Key) != "key" || string(rec.Value) != "value" || rec.Headers[0].Key != "h" || string(rec.Headers[0].Value) != "header" {
				t.Errorf("in the log: %q %q %v", rec.Key, rec.Value, rec.Headers)
			}
		}
		if v := c.Violations(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// K44: records that fail at once, or are written, come faster than callbacks
// run. The caller is slowed down to their pace, instead of results piling up
// without end.
func TestK44ResultsDoNotPileUp(t *testing.T) {
	for name, topic := range map[string]string{
		"no such topic": "in valid",
		"a bad record":  "", // refused before it has a place
		"written":       "t",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const free, buffered = 1000, 10_000 / 68
				r := newRig(t, topics(1), func(c *config.Config) { c.BufferBytes, c.BatchBytes = 10_000, 1000 })
				r.p.PretendBehind(producer.MaxBehind - free)
				step := make(chan struct{})
				called, handed := 0, 0
				ctx, cancel := context.WithCancel(t.Context())
				var spinning sync.WaitGroup
				spinning.Go(func() {
					for ctx.Err() == nil {
						r.p.Produce(ctx, producer.Record{Topic: topic}, func(producer.Result) { <-step; called++ })
						handed++
					}
				})
				time.Sleep(30 * time.Second)
				synctest.Wait()
				if handed < free || handed > free+buffered {
					t.Errorf("%d records were taken while no callback returned", handed)
				}
				before := handed
				for range free {
					step <- struct{}{}
				}
				time.Sleep(30 * time.Second)
				synctest.Wait()
				if more := handed - before; more < free/2 || more > free+buffered {
					t.Errorf("%d more records for %d callbacks", more, free)
				}
				cancel()
				close(step)
				spinning.Wait()
				r.p.PretendBehind(free - producer.MaxBehind)
				if err := r.p.Close(r.within(time.Hour)); err != nil {
					t.Fatal(err)
				}
				if called != handed {
					t.Errorf("%d callbacks for %d records", called, handed)
				}
			})
		})
	}
}

// Where Produce must not wait, for a full buffer or for callbacks that are
// behind, it does not.
func TestFullBufferWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) { c.BatchBytes, c.BufferBytes, c.MaxBlock = 1000, 1000, 0 })
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(nil) })
		r.produce(t.Context(), producer.Record{}, 800)
		begun := time.Now()
		n := r.produce(t.Context(), producer.Record{}, 800)
		synctest.Wait()
		if res := r.result(n); !errors.Is(res.Err, producer.ErrBufferFull) {
			t.Errorf("%+v", res)
		}
		if err := r.try(producer.Record{}, 800); !errors.Is(err, producer.ErrBufferFull) || !producer.SafeToResend(err) {
			t.Error(err)
		}
		r.p.PretendBehind(producer.MaxBehind)
		if err := r.try(producer.Record{}, 10); !errors.Is(err, producer.ErrBufferFull) {
			t.Error(err)
		}
		r.p.PretendBehind(-producer.MaxBehind)
		if time.Since(begun) != 0 {
			t.Errorf("waited for %v", time.Since(begun))
		}
		r.p.Abort()
		r.judge()
	})
}

// max.block.ms bounds the wait for room.
func TestMaxBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) { c.BatchBytes, c.BufferBytes, c.MaxBlock = 1000, 1000, 3*time.Second })
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(nil) })
		r.produce(t.Context(), producer.Record{}, 800)
		begun := time.Now()
		n := r.produce(context.Background(), producer.Record{}, 800)
		if d := time.Since(begun); d != 3*time.Second {
			t.Errorf("waited for %v", d)
		}
		synctest.Wait()
		if res := r.result(n); !errors.Is(res.Err, producer.ErrBufferFull) {
			t.Errorf("%+v", res)
		}
		r.p.Abort()
		r.judge()
	})
}
