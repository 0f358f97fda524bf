package producer_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker that has forgotten the producer takes any batch as its first. So a
// batch in the log proves nothing of those before it there: only what is seen
// itself, from the first in doubt on without a gap, is written. The rest is
// unknown.
func TestLogReadingStopsAtTheFirstGap(t *testing.T) {
	for name, c := range map[string]struct {
		gaps    []int32 // sequences of batches that never get there, 1 is the first in doubt
		written int     // of ten
	}{
		"no gap":          {nil, 10},
		"the first":       {[]int32{1}, 0},
		"in the middle":   {[]int32{4}, 3},
		"two":             {[]int32{3, 4, 7}, 2},
		"all but the end": {[]int32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, topics(1), smallBatches)
				if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
					t.Fatal(err)
				}
				hold, over := make(chan struct{}), false
				r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
					f := producertest.Fault{}
					if over {
						return f
					}
					if slices.Contains(c.gaps, a.BaseSequence) {
						f = producertest.Refuse(19)
						_ = r.c.ForgetProducers("t", 0)
					}
					switch a.BaseSequence {
					case 1:
						f = f.Hold(hold) // until all are in flight
					case 10:
						over = true
						return producertest.Drop()
					}
					return f
				})
				r.c.OnResponse(func(resp *producertest.Response) {
					resp.Withhold = !over && resp.Request.Key() == 0
					if m, ok := resp.Message.(*kmsg.DescribeProducersResponse); ok {
						m.Topics[0].Partitions[0].ActiveProducers = nil
					}
				})
				for range 10 {
					r.produce(t.Context(), producer.Record{}, 10)
				}
				synctest.Wait()
				close(hold)
				r.flush(time.Minute)
				r.c.OnProduce(nil)
				if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
					t.Errorf("the partition does not go on: %v", err)
				}
				if sum := r.judge(); sum.written != 2+c.written || sum.unknown != 10-c.written {
					t.Errorf("%+v %v", sum, r.firstError())
				}
			})
		})
	}
}
