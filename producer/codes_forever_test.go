package producer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// Whatever a broker answers to a Produce, for ever: it is not asked faster than the
// backoff allows, each record has its outcome in time, and once the broker is honest
// again the partition goes on, in a new lane if need be.
func TestEveryCodeForEver(t *testing.T) {
	const delivery, request = 10 * time.Second, 2 * time.Second
	for code := int16(-1); code <= 140; code++ {
		if code == 0 {
			continue
		}
		for kind, lane := range map[string]bool{"plain": false, "lane": true} {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, topics(1))
				p := newProducer(t, c, func(c *config.Config) {
					c.Linger, c.BatchBytes = 0, 200
					c.DeliveryTimeout, c.RequestTimeout = delivery, request
				})
				to := p.Lane()
				produce := p.Produce
				if lane {
					produce = to.Produce
				}
				attempts := 0
				c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
					if attempts++; attempts > 2000 { // without a pause: virtual time stands still
						return producertest.Fault{}
					}
					return producertest.Refuse(code)
				})
				began := time.Now()
				var last time.Duration
				var outcomes []producer.Outcome
				const records = 10
				for i := range records {
					produce(t.Context(), numbered(i), func(r producer.Result) {
						last = time.Since(began)
						outcomes = append(outcomes, r.Outcome)
					})
				}
				if err := p.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				// A batch a second is a backoff of 1 s; ten batches may be in flight.
				if most := records * (5 + int(delivery/time.Second)); attempts > most {
					t.Errorf("%s, code %d: %d attempts in %v", kind, code, attempts, last)
				}
				if last > delivery+request+time.Second {
					t.Errorf("%s, code %d: an outcome after %v", kind, code, last)
				}
				for _, o := range outcomes {
					if o == producer.Written || lane && o != producer.Unknown {
						t.Errorf("%s, code %d: %v", kind, code, o)
					}
				}
				c.OnProduce(nil)
				if lane {
					to = p.Lane()
				}
				began = time.Now()
				var r producer.Result
				var err error
				if lane {
					r, err = to.ProduceSync(t.Context(), numbered(99))
				} else {
					r, err = p.ProduceSync(t.Context(), numbered(99))
				}
				secondOwner := code == 47 || code == 90
				if !(secondOwner && !lane) && (err != nil || time.Since(began) > delivery) {
					t.Errorf("%s, code %d: honest again: %v, %v after %v", kind, code, r.Outcome, err, time.Since(began))
				}
			})
		}
	}
}

// A service that has lost its state maps no producer ID that it gave out before. It
// is asked for a new one; what was in doubt is Unknown, and the rest is written.
func TestProducerIDThatIsMappedNoMore(t *testing.T) {
	for name, doubt := range map[string]bool{"nothing in doubt": false, "a lost answer": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, topics(3))
				p := newProducer(t, c, func(c *config.Config) { c.Linger, c.BatchBytes = 0, 200 })
				for i := range 6 {
					if _, err := p.ProduceSync(t.Context(), numberedOn(i/3, int32(i%3))); err != nil {
						t.Fatal(err)
					}
				}
				old, drop := int64(-1), doubt
				c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
					switch {
					case drop:
						drop = false
						return producertest.Drop()
					case old < 0:
						old = a.ProducerID
					}
					if a.ProducerID == old {
						return producertest.Refuse(49)
					}
					return producertest.Fault{}
				})
				unknown := 0
				for i := range 30 {
					p.Produce(t.Context(), numberedOn(2+i/3, int32(i%3)), func(r producer.Result) {
						switch r.Outcome {
						case producer.Unknown:
							unknown++
						case producer.NotWritten:
							t.Errorf("record %d: %v", i, r.Err)
						}
					})
				}
				began := time.Now()
				if err := p.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); !doubt && took > 5*time.Second {
					t.Errorf("it took %v", took)
				}
				if !doubt && unknown > 0 || doubt && unknown == 0 {
					t.Errorf("%d records unknown", unknown)
				}
				for q := range int32(3) {
					if _, err := p.ProduceSync(t.Context(), numberedOn(12, q)); err != nil {
						t.Errorf("partition %d does not go on: %v", q, err)
					}
					if !doubt {
						wantCount(t, c, q, 13)
					}
				}
			})
		})
	}
}
