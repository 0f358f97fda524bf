package producer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// chain is a callback that produces again, for as long as it is let.
type chain struct {
	again func(done func(producer.Result))
	calls atomic.Int64
	over  atomic.Bool
}

const longestChain = 1_000_000

func (c *chain) done(producer.Result) {
	if c.calls.Add(1) < longestChain && !c.over.Load() {
		c.again(c.done)
	}
}

// Close waits for the callbacks of what came before, and not for those of what
// callbacks produce then, and so on for ever.
func TestCloseDoesNotWaitForAnEndlessChain(t *testing.T) {
	tooLarge := producer.Record{Topic: "t", Value: make([]byte, 9<<20)}
	for name, tc := range map[string]struct {
		begin func(t *testing.T, r *rig, c *chain)
		ctx   time.Duration
	}{
		"a refused record": {func(t *testing.T, r *rig, c *chain) {
			c.again = func(done func(producer.Result)) { r.p.Produce(context.Background(), tooLarge, done) }
			c.again(c.done)
		}, time.Hour},
		"a record that Close gave up": {func(t *testing.T, r *rig, c *chain) {
			never := make(chan struct{})
			r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(never) })
			t.Cleanup(func() { close(never) })
			c.again = func(done func(producer.Result)) {
				r.p.Produce(context.Background(), producer.Record{Topic: "t", Value: []byte("v")}, done)
			}
			c.again(c.done)
		}, time.Second},
		"a record of a lane": {func(t *testing.T, r *rig, c *chain) {
			l := r.p.Lane("t")
			c.again = func(done func(producer.Result)) { l.Produce(context.Background(), numbered(0), done) }
			l.Abort()
			c.again(c.done)
		}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, topics(1), nil)
				r.sync(t.Context(), producer.Record{}, 10) // a chain that spins lets no virtual time pass
				var told atomic.Int64
				const accepted = 100
				for range accepted {
					r.p.Produce(t.Context(), producer.Record{Topic: "t", Value: []byte("v")}, func(producer.Result) { told.Add(1) })
				}
				c := new(chain)
				tc.begin(t, r, c)
				ctx, cancel := contextFor(t, tc.ctx)
				defer cancel()
				_ = r.p.Close(ctx)
				calls := c.calls.Load()
				c.over.Store(true)
				if n := told.Load(); n != accepted {
					t.Errorf("%d of %d callbacks have run", n, accepted)
				}
				if calls >= longestChain {
					t.Errorf("Close waited for %d callbacks", calls)
				}
			})
		})
	}
}

// What is produced after Close began fails, and has its callback all the same.
func TestProduceDuringClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		hold := make(chan struct{})
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(hold) })
		var first, second producer.Result
		r.p.Produce(t.Context(), producer.Record{Topic: "t", Value: []byte("v")}, func(res producer.Result) {
			first = res
			r.p.Produce(context.Background(), producer.Record{Topic: "t", Value: []byte("w")}, func(res producer.Result) { second = res })
		})
		time.AfterFunc(time.Second, func() { close(hold) })
		if err := r.p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if first.Outcome != producer.Written {
			t.Errorf("%+v", first)
		}
		synctest.Wait()
		if !producer.SafeToResend(second.Err) || producer.Retriable(second.Err) {
			t.Errorf("%+v", second)
		}
	})
}
