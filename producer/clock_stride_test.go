package producer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// a burst, and then single records, into one open batch.
func TestLaneFaultOldClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, func(c *config.Config) { c.Linger = time.Minute })
		if _, err := p.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Fatal(err)
		}
		for i := range 130 {
			p.Produce(t.Context(), numbered(i), nil)
		}
		var worst time.Duration
		for i := range 60 {
			time.Sleep(900 * time.Millisecond)
			at := time.Now()
			p.Produce(t.Context(), numbered(i), func(r producer.Result) { worst = max(worst, at.Sub(r.Timestamp)) })
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if worst > time.Second {
			t.Errorf("a record's timestamp is %v before Produce", worst)
		}
	})
}

// what the former process wrote is passed over, while batches are compressed.
func TestLaneFaultRestingIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		setting := func(c *config.Config) { c.Linger, c.BatchBytes = 0, 70 }
		p := newProducer(t, c, setting)
		l := p.Lane()
		cp, err := l.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		end(t, p)
		p = newProducer(t, c, setting)
		c.OnResponse(func(r *producertest.Response) {
			if r.Request.Key() == 61 {
				r.Delay = time.Millisecond
			}
		})
		producer.SetCompressor(p, sleepyCodec{15 * time.Millisecond})
		if l, err = p.Resume(t.Context(), cp); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var first time.Duration
		for i := range 4000 {
			l.Produce(t.Context(), numbered(i), func(producer.Result) {
				if first == 0 {
					first = time.Since(began)
				}
			})
			time.Sleep(7 * time.Millisecond)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		t.Logf("first outcome after %v of %v, %d questions", first, time.Since(began), p.Stats().Questions)
		if first > 5*time.Second || p.Stats().Questions > 100 {
			t.Fail()
		}
	})
}
