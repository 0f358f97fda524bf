package producer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// A new leader epoch of the same broker, on the same connection: the leader was
// elsewhere in between, and what comes back with the log may be another memory of
// the producer, or none. So one batch goes alone until the first success: where two
// go, the first may be refused and the second be taken for a beginning.
func TestNewLeaderEpochOfTheSameBroker(t *testing.T) {
	for name, change := range map[string]func(*producertest.Cluster) error{
		"forgotten": func(c *producertest.Cluster) error { return c.ForgetProducers("t", 0) },
		"known":     func(*producertest.Cluster) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTapped(t, topics(1), func(cfg *config.Config) { cfg.MetadataMaxAge = time.Second })
				s.warm(0)
				if err := s.c.MoveLeader("t", 0, 0); err != nil {
					t.Fatal(err)
				}
				if err := change(s.c); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second) // metadata tells
				s.c.OnProduce(refuseOnce(10, producertest.Refuse(6)))
				s.tens(0, 3)
				s.flush(time.Minute)
				s.judgeWritten()
			})
		})
	}
}
