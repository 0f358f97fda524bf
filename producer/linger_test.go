package producer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Linger is a maximum: a record that comes when nothing was sent for so long
// leaves at once, and a stream of them leaves once a linger.
func TestLingerIsAMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const linger = time.Second
		r := newRig(t, topics(1), func(c *config.Config) { c.Linger = linger })
		batches := 0
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			batches++
			return producertest.Fault{}
		})
		r.sync(t.Context(), producer.Record{}, 10)
		for range 3 {
			time.Sleep(linger)
			n := r.produce(t.Context(), producer.Record{}, 10)
			synctest.Wait()
			if len(r.results(n)) != 1 {
				t.Fatal("a record waits though it is the only one for long")
			}
		}
		batches = 0
		var first, last int
		for i := range 100 { // in ten lingers
			if last = r.produce(t.Context(), producer.Record{}, 10); i == 0 {
				first = last
			}
			time.Sleep(linger / 10)
		}
		synctest.Wait()
		if batches != 10 {
			t.Errorf("%d batches in ten lingers", batches)
		}
		for n := first; n <= last; n++ {
			if len(r.results(n)) != 1 {
				t.Errorf("record %d has no outcome after a linger", n)
			}
		}
		r.judge()
	})
}

// Without linger a fast stream over a long line is not one request a record: a
// record waits for others for a small part of a round trip.
func TestPaceFollowsTheRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const roundTrip, pace = 64 * time.Millisecond, time.Millisecond
		s := newTapped(t, topics(1), func(c *config.Config) { c.Linger = 0 })
		answered := 0
		s.c.OnResponse(func(resp *producertest.Response) {
			if _, ok := resp.Message.(*kmsg.ProduceResponse); ok {
				written := s.tap.batches(nil)[answered].at
				resp.Delay = time.Until(written.Add(roundTrip))
				answered++
			}
		})
		s.sync(t.Context(), producer.Record{}, 10) // shows how long the line is
		s.sync(t.Context(), producer.Record{}, 10)
		var worst time.Duration
		for range 1000 { // in a hundred paces
			n, rec := s.enter(producer.Record{}, 10)
			at := time.Now()
			s.p.Produce(t.Context(), rec, func(res producer.Result) {
				worst = max(worst, time.Since(at))
				s.note(n, res)
			})
			time.Sleep(pace / 10)
		}
		s.flush(time.Minute)
		if answered < 90 || answered > 110 {
			t.Errorf("%d requests in a hundred paces", answered)
		}
		if worst > roundTrip+pace {
			t.Errorf("a record took %v", worst)
		}
		s.judge()
	})
}
