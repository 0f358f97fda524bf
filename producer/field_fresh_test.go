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

// silent is topics(1) with brokers that say nothing of what they know of
// producers (DescribeProducers, Kafka before 2.8).
func silent() producertest.Config {
	c := topics(1)
	c.MaxVersions = map[int16]int16{61: -1}
	return c
}

// K21, R7: after a pause in which the broker may have forgotten the producer a
// new epoch begins, which every broker takes, whether it forgot or not; unless
// the broker says that it did not.
func TestK21NewEpochAfterALongPause(t *testing.T) {
	for name, c := range map[string]struct {
		cluster producertest.Config
		forgot  bool
		epoch   int16
	}{
		"the broker forgot":           {silent(), true, 1},
		"it did not":                  {silent(), false, 1},
		"the broker forgot, and says": {topics(1), true, 1},
		"it did not, and it says":     {topics(1), false, 0},
	} {
		forgot := c.forgot
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, c.cluster, func(c *config.Config) { c.ProducerIDExpiration = 10 * time.Minute })
				for range 3 {
					if _, err := r.sync(t.Context(), producer.Record{Topic: "t"}, 10); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(6 * time.Minute)
				if forgot {
					if err := r.c.ForgetProducers("t", 0); err != nil {
						t.Fatal(err)
					}
				}
				for range 3 {
					if _, err := r.sync(t.Context(), producer.Record{Topic: "t"}, 10); err != nil {
						t.Fatal(err)
					}
				}
				if s := r.p.Stats(); s.Partitions[0].Epoch != c.epoch {
					t.Errorf("epoch %d after the pause, want %d", s.Partitions[0].Epoch, c.epoch)
				}
				r.judge()
			})
		})
	}
}

// R7: what is in doubt when the broker may have forgotten the producer is not
// sent again: it would be taken for new.
func TestInDoubtForTooLongIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, silent(), func(c *config.Config) {
			c.ProducerIDExpiration, c.DeliveryTimeout = 10*time.Minute, time.Hour
		})
		if _, err := r.sync(t.Context(), producer.Record{Topic: "t"}, 10); err != nil {
			t.Fatal(err)
		}
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			_ = r.c.Stop(0) // nobody comes back for a while
			return producertest.Drop()
		})
		n := r.produce(t.Context(), producer.Record{Topic: "t"}, 10)
		time.Sleep(6 * time.Minute)
		r.c.OnProduce(nil)
		if err := errors.Join(r.c.ForgetProducers("t", 0), r.c.Start(0)); err != nil {
			t.Fatal(err)
		}
		r.flush(time.Minute)
		if res := r.result(n); res.Outcome != producer.Unknown || !errors.Is(res.Err, producer.ErrStateLost) {
			t.Errorf("want unknown, the state is lost: %+v", res)
		}
		if _, err := r.sync(t.Context(), producer.Record{Topic: "t"}, 10); err != nil {
			t.Errorf("the partition does not go on: %v", err)
		}
		r.judge()
	})
}

// KIP-854: a broker forgets by the timestamps of records. Behind old ones there
// is never more than one batch in flight.
func TestOldTimestampsGoOneBatchAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) { c.Linger, c.BatchBytes = 0, 200 })
		old := time.Now().Add(-48 * time.Hour)
		deepest := int32(0)
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			if s := r.p.Stats(); len(s.Partitions) > 0 {
				deepest = max(deepest, s.Partitions[0].Batches)
			}
			return producertest.Fault{}
		})
		for range 50 {
			r.produce(t.Context(), producer.Record{Topic: "t", Timestamp: old}, 50)
		}
		r.flush(time.Minute)
		if deepest > 1 {
			t.Errorf("%d batches were in flight", deepest)
		}
		r.judge()
	})
}

// R7: a record with an old timestamp whose reply was lost is not sent again,
// since the broker may have forgotten by that timestamp that it has it.
func TestOldTimestampInDoubtIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, silent(), nil)
		old := time.Now().Add(-48 * time.Hour)
		r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			_ = r.c.ForgetProducers("t", 0)
			return producertest.Drop()
		})
		n := r.produce(t.Context(), producer.Record{Topic: "t", Timestamp: old}, 10)
		r.flush(time.Minute)
		r.c.OnProduce(nil)
		if res := r.result(n); res.Outcome != producer.Unknown || !errors.Is(res.Err, producer.ErrStateLost) {
			t.Errorf("want unknown, the state may be lost: %+v", res)
		}
		r.judge()
	})
}

// A broker that answers each of many requests only just in time does not
// stretch a deadline by more than one request timeout.
func TestDeadlineIsNotStretched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) {
			c.Linger, c.BatchBytes = 0, 200
			c.RequestTimeout, c.DeliveryTimeout = 10*time.Second, 30*time.Second
		})
		if _, err := r.sync(t.Context(), producer.Record{Topic: "t"}, 10); err != nil {
			t.Fatal(err)
		}
		r.c.OnResponse(func(resp *producertest.Response) {
			if resp.Request.Key() == 0 {
				resp.Delay = 9 * time.Second
			}
		})
		began := time.Now()
		for range 40 {
			r.produce(t.Context(), producer.Record{Topic: "t"}, 100)
		}
		r.flush(time.Hour)
		if took := time.Since(began); took > 41*time.Second {
			t.Errorf("outcomes after %v, want within delivery and request timeout", took)
		}
		r.judge()
	})
}

// R7: so it is with the very first records of a partition, or of an epoch, of which
// nothing was acknowledged yet. What brokers remember of them dates from when they
// were sent.
func TestFirstInDoubtForTooLongIsUnknown(t *testing.T) {
	brokersTime := silent()
	brokersTime.LogAppendTime = true
	for name, cc := range map[string]producertest.Config{"asking": topics(1), "silence": silent(), "the broker's timestamps": brokersTime} {
		for what, before := range map[string]int{"of a partition": 0, "of an epoch": 2} {
			t.Run(name+"/"+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, cc, func(c *config.Config) {
						c.ProducerIDExpiration, c.DeliveryTimeout = 10*time.Minute, time.Hour
					})
					for range before {
						r.sync(t.Context(), producer.Record{}, 10)
					}
					if before > 0 { // the next one begins an epoch
						time.Sleep(11 * time.Minute)
						if err := r.c.ForgetProducers("t", 0); err != nil {
							t.Fatal(err)
						}
					}
					r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
						_ = r.c.Stop(0)
						return producertest.Drop()
					})
					n := r.produce(t.Context(), producer.Record{}, 10)
					time.Sleep(11 * time.Minute)
					r.c.OnProduce(nil)
					if err := errors.Join(r.c.ForgetProducers("t", 0), r.c.Start(0)); err != nil {
						t.Fatal(err)
					}
					r.flush(time.Minute)
					if res := r.result(n); res.Outcome == producer.NotWritten {
						t.Errorf("%+v", res)
					}
					r.sync(t.Context(), producer.Record{}, 10)
					r.judge() // once each
				})
			})
		}
	}
}
