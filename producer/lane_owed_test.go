package producer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// A context that ends while a lane's Produce waits for room, or before, does not
// stop the lane: the record comes again, and the lane goes on.
func TestLaneGoesOnBehindAnEndedContext(t *testing.T) {
	for name, wait := range map[string]time.Duration{"while it waits for room": 10 * time.Second, "before": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, l, release := fullLane(t)
				ctx, cancel := contextFor(t, wait)
				defer cancel()
				results := make(chan producer.Result, 2)
				for range 2 { // trying again in vain is no harm
					l.Produce(ctx, wide(4), func(r producer.Result) { results <- r })
					if r := <-results; r.Outcome != producer.Unknown || !errors.Is(r.Err, context.DeadlineExceeded) || producer.Retriable(r.Err) {
						t.Errorf("%+v", r)
					}
					if wait == 0 {
						break // each of those could be another record
					}
					ctx, cancel = contextFor(t, wait)
					defer cancel()
				}
				if err := l.Err(); err != nil {
					t.Fatal(err)
				}
				if _, err := l.Mark(t.Context()); err == nil {
					t.Error("a mark counts a record that is not there")
				}
				release()
				for i := 4; i < 8; i++ {
					if _, err := l.ProduceSync(t.Context(), wide(i)); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := l.Checkpoint(t.Context()); err != nil {
					t.Error(err)
				}
				wantWide(t, c, 8)
			})
		})
	}
}

// Another record in the place of one that was not accepted would be taken for it
// after a resume: the lane stops, and nothing is sent.
func TestLaneStopsWhereAnotherRecordComes(t *testing.T) {
	for name, other := range map[string]func(l *producer.Lane, t *testing.T){
		"Produce":     func(l *producer.Lane, t *testing.T) { l.Produce(t.Context(), wide(5), nil) },
		"ProduceSync": func(l *producer.Lane, t *testing.T) { _, _ = l.ProduceSync(t.Context(), wide(5)) },
		"the one after the next": func(l *producer.Lane, t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			l.Produce(ctx, wide(5), nil)
			l.Produce(t.Context(), wide(4), nil)
			l.Produce(t.Context(), wide(6), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, l, release := fullLane(t)
				ctx, cancel := contextFor(t, time.Second)
				defer cancel()
				l.Produce(ctx, wide(4), nil)
				release()
				synctest.Wait()
				other(l, t)
				if err := l.Err(); !errors.Is(err, producer.ErrLaneFailed) {
					t.Errorf("the lane goes on: %v", err)
				}
				if err := l.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := values(t, c, 0); len(got) > 5 {
					t.Errorf("%d records", len(got))
				}
			})
		})
	}
	t.Run("TryProduce", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, l, release := fullLane(t)
			ctx, cancel := contextFor(t, time.Second)
			defer cancel()
			l.Produce(ctx, wide(4), nil)
			release()
			synctest.Wait()
			if err := l.TryProduce(wide(5), nil); err == nil || l.Err() != nil {
				t.Errorf("accepted, or the lane stopped: %v, %v", err, l.Err())
			}
			if err := l.TryProduce(wide(4), nil); err != nil {
				t.Error(err)
			}
		})
	})
}

// A caller that goes on with an ended context is owed no more than some records.
func TestLaneOwesNoEndlessList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l, release := fullLane(t)
		release()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for i := range 2000 {
			l.Produce(ctx, numbered(i), nil)
		}
		if err := l.Err(); !errors.Is(err, producer.ErrLaneFailed) {
			t.Errorf("the lane goes on: %v", err)
		}
	})
}

// wide is record i with a value that takes a quarter of the buffer of fullLane.
func wide(i int) producer.Record {
	rec := numbered(i)
	rec.Value = append(make([]byte, 2000), byte(i))
	return rec
}

func wantWide(t *testing.T, c *producertest.Cluster, n int) {
	t.Helper()
	got := values(t, c, 0)
	for i, v := range got {
		if len(v) != 2001 || int(v[2000]) != i {
			t.Errorf("record %d is another one", i)
		}
	}
	if len(got) != n {
		t.Errorf("%d records, want %d", len(got), n)
	}
}

// fullLane is a lane whose four records, the first of them, fill the buffer until
// they are released.
func fullLane(t *testing.T) (*producertest.Cluster, *producer.Lane, func()) {
	c := newCluster(t, topics(1))
	p := newProducer(t, c, func(c *config.Config) { c.BufferBytes, c.BatchBytes, c.MaxBlock = 9000, 2000, -1 })
	hold := make(chan struct{})
	c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(hold) })
	l := p.Lane("t")
	for i := range 4 {
		if err := l.TryProduce(wide(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
	return c, l, func() { close(hold) }
}
