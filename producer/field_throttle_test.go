package producer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// K45: every answer asks for ten seconds of silence, and the broker mutes the
// socket for them, twice the request timeout. Nothing is sent meanwhile, and no
// request that waits in the socket counts as unanswered.
func TestK45ThrottleIsNotRequestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(1), func(c *config.Config) { c.RequestTimeout = 5 * time.Second })
		s.warm(0)
		release := make(chan struct{})
		s.c.OnProduce(refuseOnce(10, producertest.Hold(release)))
		answers := 0
		s.c.OnResponse(func(r *producertest.Response) {
			if r.Request.Key() == produceKey {
				answers++
				r.Throttle = 10 * time.Second
			}
		})
		s.tens(0, 5)
		s.await(0, 6)
		close(release)
		first := time.Now()
		time.Sleep(time.Second)
		s.tens(0, 2) // during the silence
		time.Sleep(time.Second)
		s.wantSent(0, 0, 0, 10, 20, 30, 40, 50)
		s.judgeWritten()
		late := s.tap.batches(func(b sentBatch) bool { return b.base >= 60 })
		if len(late) != 2 || late[0].at.Sub(first) < 10*time.Second {
			t.Errorf("during the silence: %v", late)
		}
		if st := s.p.Stats(); st.Connections != 1 || st.Resends != 0 || st.BrokerThrottled != time.Duration(answers)*10*time.Second {
			t.Errorf("%d connections, %d resends, throttled for %v by %d answers", st.Connections, st.Resends, st.BrokerThrottled, answers)
		}
	})
}

// K45: a broker that is silent for the time it asked for and then for good is
// still found out.
func TestK45SilenceThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(1), func(c *config.Config) { c.RequestTimeout = 5 * time.Second })
		s.warm(0)
		s.c.OnProduce(refuseOnce(20, producertest.Hold(nil)))
		s.c.OnResponse(func(r *producertest.Response) {
			if r.Request.Key() == produceKey && s.p.Stats().Connections == 1 {
				r.Throttle = 10 * time.Second
			}
		})
		begun := time.Now()
		s.tens(0, 2)
		s.flush(time.Minute)
		if d := time.Since(begun); d < 15*time.Second || d > 16*time.Second {
			t.Errorf("took %v", d)
		}
		s.judgeWritten()
	})
}
