package producer_test

import (
	"encoding/binary"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// A broker that refuses each record of a batch with a text of its own (KIP-467)
// answers with more bytes than the records have. The answer is read, and each
// record is called absent once: no connection is lost over it.
func TestLargeRefusalsAreRead(t *testing.T) {
	for _, c := range []struct {
		name                string
		partitions, records int // records of each partition, in one batch
		words               int // bytes of a text
	}{
		{"many records", 1, 15_000, 100},
		{"many partitions", 300, 50, 400},
		{"long texts", 1, 2_000, 700},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, topics(int32(c.partitions)), func(cfg *config.Config) {
					cfg.BatchBytes, cfg.Linger = 1<<20, 10*time.Millisecond
				})
				bad := make([]int32, c.records)
				for i := range bad {
					bad[i] = int32(i)
				}
				again, largest, connections := 0, 0, map[int64]bool{}
				r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
					if !a.FirstTime() {
						again++
					}
					connections[a.Connection] = true
					return producertest.Refuse(87).BadRecords(strings.Repeat("w", c.words), bad[:a.Records]...)
				})
				r.c.OnResponse(func(resp *producertest.Response) {
					largest = max(largest, len(resp.Message.AppendTo(nil)))
				})
				for range c.records {
					for p := range c.partitions {
						r.produce(t.Context(), producer.Record{Partition: producer.On(int32(p))}, 0)
					}
				}
				r.flush(time.Minute)
				if sum := r.judge(); sum.notWritten != c.records*c.partitions {
					t.Errorf("%+v %v", sum, r.firstError())
				}
				if largest <= 1<<20 || again > 0 || len(connections) != 1 {
					t.Errorf("an answer of %d bytes, %d batches sent again, %d connections", largest, again, len(connections))
				}
			})
		})
	}
}

// A broker that claims more than the request can have made of it is left at once,
// before anything else is read: here nothing comes behind the claim.
func TestOversizedAnswersAreRefusedByTheirClaim(t *testing.T) {
	for _, claim := range []uint32{2 << 20, 32 << 20, 1<<31 - 1} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, topics(1), nil)
			hostile := true
			r.c.OnResponse(func(resp *producertest.Response) {
				if resp.Request != nil && resp.Request.Key() == 0 && hostile {
					hostile = false
					resp.Raw = binary.BigEndian.AppendUint32(nil, claim)
				}
			})
			begun := time.Now()
			if _, err := r.sync(t.Context(), producer.Record{}, 100); err != nil || time.Since(begun) > 2*time.Second {
				t.Errorf("%d bytes claimed: %v after %v", claim, err, time.Since(begun))
			}
			r.judge()
		})
	}
}
