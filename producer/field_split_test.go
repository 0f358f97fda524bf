package producer_test

import (
	"errors"
	"math/bits"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// watchSizes notes the sizes of the batches that the broker saw.
func watchSizes(r *rig, then func(producertest.ProduceAttempt) producertest.Fault) (refused *int, sizes *[]int) {
	refused, sizes = new(int), new([]int)
	r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
		*sizes = append(*sizes, a.Bytes)
		if a.Bytes > 100_000 {
			*refused++
		}
		if then != nil {
			return then(a)
		}
		return producertest.Fault{}
	})
	return refused, sizes
}

// K11: the broker takes a hundredth of what the client puts into a batch.
// Batches are halved until they fit, in a number of steps that is bounded, and
// the records are written in order, without a gap. In the second run one record
// in the middle is too large for the broker even alone: it fails alone.
func TestK11TooLargeBatches(t *testing.T) {
	for name, large := range map[string]int{"all fit": 0, "one does not": 200_000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 5000
				cc := topics(1)
				cc.MaxMessageBytes = 100_000
				r := newRig(t, cc, func(c *config.Config) {
					c.BatchBytes, c.MaxRequestBytes, c.BufferBytes = 8<<20, 9<<20, 64<<20
					c.Linger = time.Second
				})
				refused, _ := watchSizes(r, nil)
				for i := range n {
					size := 1000
					if i == n/2 && large > 0 {
						size = large
					}
					r.produce(t.Context(), producer.Record{Partition: producer.On(0)}, size)
				}
				sum := r.judge()
				want := tally{written: n}
				if large > 0 {
					want = tally{written: n - 1, notWritten: 1}
					res := r.result(n / 2)
					if !errors.Is(res.Err, producer.ErrRecordTooLarge) || !errors.Is(res.Err, producer.Code(10)) {
						t.Errorf("%v", res.Err)
					}
				}
				if sum != want {
					t.Errorf("%+v %v", sum, r.firstError())
				}
				// 5 MB in batches of at most 8 MB: one batch. A tree with leaves of
				// at least 50,000 bytes has no more inner nodes than leaves, plus
				// the path to the one record.
				if most := n*1100/50_000 + bits.Len(n); *refused > most {
					t.Errorf("%d batches were refused, %d are enough", *refused, most)
				}
				if s := r.p.Stats(); s.Alarms > 0 || s.Connections != 1 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// K11: many full batches are in flight when the first is refused; each is cut
// in its turn, and all stay in order.
func TestK11SplitWithDeepPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(2)
		cc.MaxMessageBytes = 3000
		r := newRig(t, cc, func(c *config.Config) { c.BatchBytes, c.Linger = 10_000, 0 })
		r.sync(t.Context(), producer.Record{Partition: producer.On(0)}, 10)
		for i := range 2000 {
			r.produce(t.Context(), producer.Record{Partition: producer.On(int32(i % 2))}, 100)
		}
		if sum := r.judge(); sum.written != 2001 {
			t.Errorf("%+v %v", sum, r.firstError())
		}
	})
}

// K11: a batch that was refused as too large while an earlier attempt of it is
// in doubt is not cut: the earlier attempt may be in the log (R1).
func TestK11NoSplitInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) { c.Linger = time.Second })
		r.sync(t.Context(), producer.Record{}, 10)
		step := 0
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			switch step++; step {
			case 1:
				return producertest.Drop() // appended, and nobody knows
			case 2:
				return producertest.Refuse(10)
			}
			return producertest.Fault{}
		})
		for range 10 {
			r.produce(t.Context(), producer.Record{}, 100)
		}
		r.flush(5 * time.Minute)
		for n := range 11 {
			if res := r.result(n); res.Outcome == producer.NotWritten {
				t.Errorf("record %d: %+v", n, res)
			}
		}
		r.judge()
	})
}
