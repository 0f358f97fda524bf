package producer_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/sluice-kafka/sluice/producer/producertest"
)

// Many callers that each wait for their record share requests, with linger and
// without, and none of them waits much more than a round trip.
func TestCallersShareRequests(t *testing.T) {
	for name, linger := range map[string]time.Duration{"no linger": 0, "linger": 50 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const callers, each, roundTrip, pace = 64, 20, 16 * time.Millisecond, time.Millisecond
				s := longLine(t, roundTrip, linger)
				s.unordered = true
				before := s.p.Stats().Requests
				var mu sync.Mutex
				var worst time.Duration
				var wg sync.WaitGroup
				for i := range callers {
					wg.Go(func() {
						for range each {
							time.Sleep(time.Duration(i) * 10 * time.Microsecond) // not all at one moment
							began := time.Now()
							if _, err := s.sync(t.Context(), producer.Record{Partition: producer.On(int32(i % 2))}, 10); err != nil {
								t.Error(err)
							}
							mu.Lock()
							worst = max(worst, time.Since(began))
							mu.Unlock()
						}
					})
				}
				began := time.Now()
				wg.Wait()
				paces := int64(time.Since(began)/pace) + 1
				if n := s.p.Stats().Requests - before; n > paces+each {
					t.Errorf("%d requests for %d records, in %d paces", n, callers*each, paces)
				}
				if worst > roundTrip+2*pace {
					t.Errorf("a caller waited %v over a round trip of %v", worst, roundTrip)
				}
				s.judge()
			})
		})
	}
}

// Next to its broker, where a round trip is shorter than any pace, those who wait
// for company leave once nothing is in flight any more.
func TestCallersLeaveOnceAllIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(2), func(c *config.Config) { c.Linger = 0 })
		r.unordered = true
		for i := range int32(4) {
			r.sync(t.Context(), producer.Record{Partition: producer.On(i % 2)}, 10)
		}
		const service = 50 * time.Microsecond
		r.c.OnResponse(func(resp *producertest.Response) {
			if _, ok := resp.Message.(*kmsg.ProduceResponse); ok {
				resp.Delay = service
			}
		})
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 3 { // the first one leaves at once
			wg.Go(func() {
				time.Sleep(time.Duration(i) * service / 10)
				r.sync(t.Context(), producer.Record{Partition: producer.On(int32(min(i, 1)))}, 10)
			})
		}
		wg.Wait()
		if took := time.Since(began); took > 2*service {
			t.Errorf("three callers took %v with answers after %v", took, service)
		}
		r.judge()
	})
}
