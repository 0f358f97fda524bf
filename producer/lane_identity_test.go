package producer_test

import (
	"context"
	"errors"
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

// A lane asks for one producer ID, however many goroutines bring its first
// topics at once: a second one would take the place of the one that checkpoints
// name.
func TestLaneGetsOneProducerID(t *testing.T) {
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
		wg.Go(func() { l.Produce(t.Context(), producer.Record{Topic: "t", Partition: producer.On(0)}, nil) })
		wg.Go(func() { l.Produce(t.Context(), producer.Record{Topic: "u", Partition: producer.On(0)}, nil) })
		wg.Go(func() { l.Produce(t.Context(), producer.Record{Topic: "v", Partition: producer.On(0)}, nil) })
		wg.Go(func() { l.Produce(t.Context(), producer.Record{Topic: "w", Partition: producer.On(0)}, nil) })
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

// A lane that is asked late for a renewal keeps the producer ID it has: what a
// checkpoint names is what later records are written with, or Resume would
// write them once more.
func TestLaneKeepsItsFirstProducerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(2))
		p := newProducer(t, c, nil)
		l := p.Lane()
		for i := range 5 {
			l.Produce(t.Context(), numberedOn(i, 0), nil)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		producer.LateRenew(l) // as the second goroutine of TestLaneGetsOneProducerID could
		time.Sleep(time.Second)
		cp, err := l.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := 5; i < 10; i++ {
			l.Produce(t.Context(), numberedOn(i, 0), nil)
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
			l.Produce(t.Context(), numberedOn(i, 0), nil)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		wantCount(t, c, 0, 12)
	})
}

// A producer ID that comes between the end of the first record and the stop of
// the lane starts nothing: what follows a record that is not written must not
// be written either.
func TestLaneSendsNothingWhenItsIDComesTooLate(t *testing.T) {
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
		if err := l.Err(); !errors.Is(err, producer.ErrLaneFailed) {
			t.Errorf("the lane says %v", err)
		}
		if got := values(t, c, 0); len(got) > 0 {
			t.Errorf("written: %v", got)
		}
	})
}

// slowLog lets a test act, and wait, where something is logged.
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

func (h slowLog) WithGroup(string) slog.Handler { return h }
