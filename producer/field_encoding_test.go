package producer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// K61: whatever happens to single batches while requests are put together
// (refused, split, resent, given up, their time over), the requests stay whole in
// every version of Produce: the broker, which reads them with another library,
// hangs up on none. Encoding takes time here, for batches are compressed.
func TestK61RequestsStayWhole(t *testing.T) {
	for _, version := range []int16{3, 5, 7, 8, 9, 10, 12, 13} {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cc := producertest.Config{
					InMemory: true, Topics: map[string]int32{"t": 5, "another-topic": 5},
					MaxVersions: map[int16]int16{0: version}, MaxMessageBytes: 2000,
				}
				r := newRig(t, cc, func(c *config.Config) {
					c.Compression, c.BatchBytes, c.Linger = config.CompressionLZ4, 4000, time.Millisecond
					c.RequestTimeout, c.DeliveryTimeout = time.Second, 5*time.Second
				})
				dead := func(a producertest.ProduceAttempt) bool { return a.Partition == 3 && a.Topic == "t" }
				n := 0
				r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
					switch n++; {
					case a.Version != version:
						t.Errorf("version %d", a.Version)
					case dead(a), n%11 == 0:
						return producertest.Refuse(19)
					case n%13 == 0:
						return producertest.Refuse(87)
					case n%17 == 0:
						return producertest.AppendThen(7)
					}
					return producertest.Fault{}
				})
				for i := range 3000 {
					rec := producer.Record{Topic: []string{"t", "another-topic"}[i%2], Key: fmt.Append(nil, rand.Uint64())}
					r.produce(t.Context(), rec, 10+rand.IntN(300))
					if i%100 == 0 {
						time.Sleep(10 * time.Millisecond)
					}
				}
				sum := r.judge()
				if sum.written < 1500 || sum.notWritten < 100 {
					t.Errorf("%+v", sum)
				}
				if s := r.p.Stats(); s.Connections != 1 || s.DialFailures != 0 {
					t.Errorf("%d connections, %d failed", s.Connections, s.DialFailures)
				}
			})
		})
	}
}

// K61: a topic whose id is not known goes by name, in a request that others
// may be in, too.
func TestK61TopicWithoutID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := producertest.Config{InMemory: true, Topics: map[string]int32{"t": 2, "u": 2}, MaxVersions: map[int16]int16{3: 9}}
		r := newRig(t, cc, nil)
		r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.Version != 12 {
				t.Errorf("version %d", a.Version)
			}
			return producertest.Fault{}
		})
		for i := range 100 {
			r.produce(t.Context(), producer.Record{Topic: []string{"t", "u"}[i%2]}, 10)
		}
		if sum := r.judge(); sum.written != 100 {
			t.Errorf("%+v %v", sum, r.firstError())
		}
	})
}
