package producer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// A broker that answers UNKNOWN_PRODUCER_ID has forgotten the lane. The log is
// there: the lane asks, reads it, and goes on.
func TestUnknownProducerIDIsNoEndOfALane(t *testing.T) {
	for name, forgets := range map[string]bool{"and knows it": false, "and does not know it": true} {
		for what, record := range map[string]func(int) producer.Record{"dated": dated, "not dated": numbered} {
			t.Run(name+"/"+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(t, topics(1))
					l := newProducer(t, c, nil).Lane("t")
					produceAll(t, l, 0, 5, record)
					cp := mustCheckpoint(t, l)
					other := mustResume(t, c, cp, nil)
					produceAll(t, other, 5, 8, record)
					if forgets {
						time.Sleep(48 * time.Hour)
						mustForget(t, c, 0)
					}
					refusals := 0
					c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
						if refusals++; refusals > 5 {
							return producertest.Fault{}
						}
						return producertest.Refuse(59)
					})
					produceAll(t, l, 5, 12, record)
					wantCount(t, c, 0, 12)
				})
			})
		}
	}
}

// One that answers so for ever is not asked more often than the backoff says.
func TestUnknownProducerIDForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		l := newProducer(t, c, nil).Lane("t")
		refusals := 0
		c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			refusals++
			return producertest.Refuse(59)
		})
		r, err := l.ProduceSync(t.Context(), numbered(0))
		if err == nil || r.Outcome != producer.Unknown || refusals > 250 {
			t.Errorf("%v after %d refusals: %v", r.Outcome, refusals, err)
		}
	})
}
