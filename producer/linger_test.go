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

// longLine is a rig with a line of so long a round trip, that knows of it.
func longLine(t *testing.T, roundTrip, linger time.Duration) *tapped {
	s := newTapped(t, topics(2), func(c *config.Config) { c.Linger = linger })
	answered := map[int32]bool{}
	s.c.OnResponse(func(resp *producertest.Response) {
		if _, ok := resp.Message.(*kmsg.ProduceResponse); ok {
			for _, b := range s.tap.batches(nil) {
				if b.request == resp.CorrelationID && !answered[b.request] {
					resp.Delay = time.Until(b.at.Add(roundTrip))
					answered[b.request] = true
				}
			}
		}
	})
	for range 5 {
		s.sync(t.Context(), producer.Record{Partition: producer.On(0)}, 10)
		s.sync(t.Context(), producer.Record{Partition: producer.On(1)}, 10)
	}
	time.Sleep(time.Second)
	return s
}

// Linger is the longest that an open batch waits, also over a long line.
func TestLingerIsAMaximumOverALongLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const linger = time.Millisecond
		s := longLine(t, 640*time.Millisecond, linger)
		s.produce(t.Context(), producer.Record{Partition: producer.On(0)}, 10) // leaves at once
		time.Sleep(linger / 10)
		at := time.Now()
		s.produce(t.Context(), producer.Record{Partition: producer.On(0)}, 10)
		time.Sleep(time.Minute)
		sent := s.tap.batches(nil)
		if d := sent[len(sent)-1].at.Sub(at); d > linger {
			t.Errorf("a batch waited %v with a linger of %v, %+v", d, linger, s.p.Stats().Brokers)
		}
		s.judge()
	})
}

// Someone waits for a record behind a paced batch, or for all: no pace then.
func TestPaceIsCutShort(t *testing.T) {
	for _, how := range []string{"sync", "sync elsewhere", "flush"} {
		synctest.Test(t, func(t *testing.T) {
			const roundTrip = 640 * time.Millisecond
			s := longLine(t, roundTrip, 0)
			s.produce(t.Context(), producer.Record{Partition: producer.On(1)}, 10) // leaves at once
			time.Sleep(time.Millisecond)
			s.produce(t.Context(), producer.Record{Partition: producer.On(0)}, 10) // paced
			time.Sleep(time.Millisecond)
			at := time.Now()
			switch how {
			case "sync":
				s.sync(t.Context(), producer.Record{Partition: producer.On(0)}, 10)
			case "sync elsewhere":
				s.sync(t.Context(), producer.Record{Partition: producer.On(1)}, 10)
			case "flush":
				s.flush(time.Minute)
			}
			if d := time.Since(at); d > roundTrip+time.Millisecond {
				t.Errorf("%s took %v", how, d)
			}
			s.judge()
		})
	}
}

// Small requests that may go at the same time are one write.
func TestSmallRequestsAreOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const depth, batches = 8, 16
		s := newTapped(t, topics(1), func(c *config.Config) { c.RequestsInFlight = depth })
		s.warm(0)
		hold := make(chan struct{})
		s.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(hold) })
		s.tens(0, batches)
		s.await(0, 1+depth) // the others wait for room
		writes := 0
		s.tap.onWrite(func(key int16, _ int) int {
			if key == 0 {
				writes++
			}
			return -1
		})
		close(hold)
		s.await(0, 1+batches)
		if most := (batches - depth) / (depth / 4); writes > most {
			t.Errorf("%d writes for %d requests, want %d at most", writes, batches-depth, most)
		}
		s.judgeWritten()
	})
}
