package producer_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
)

// huge are limits beyond what the int of a 32-bit target holds, and one beyond
// what may be multiplied.
var huge = []int64{1 << 31, 1 << 32, 3 << 31, math.MaxInt64}

// A limit as good as none bounds nothing: what is left of it is not cut to an
// int, by which it would be negative or 0.
func TestHugeLimitOfBytesInFlight(t *testing.T) {
	for _, limit := range huge {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, topics(1), func(c *config.Config) { c.MaxInFlightBytes = limit })
				for range 10 {
					r.produce(t.Context(), producer.Record{}, 1000)
				}
				r.flush(time.Minute)
				r.judge()
			})
		})
	}
}

// With two brokers, each has a multiple of what is free.
func TestHugeBufferHasRoomForASilentBroker(t *testing.T) {
	for _, buffer := range huge {
		t.Run(fmt.Sprint(buffer), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, speak := besideSilent(t, 1000, buffer)
				for i := range 100 {
					if err := r.try(producer.Record{Partition: producer.On(0)}, 500); err != nil {
						t.Fatalf("record %d: %v", i, err)
					}
				}
				speak()
				r.flush(time.Minute)
				r.judge()
			})
		})
	}
}
