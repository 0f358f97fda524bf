package producer_test

import (
	"errors"
	"log/slog"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A timestamp that a log cannot hold is refused, and not turned into another one.
func TestTimestampsThatNoLogHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		for _, at := range []time.Time{
			time.Unix(-1, 0), time.Unix(0, -1), time.Date(1969, 12, 31, 23, 59, 59, 999e6, time.UTC),
			time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(-300_000_000, 1, 1, 0, 0, 0, 0, time.UTC),
			time.Date(300_000_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(math.MaxInt64/1000, 0), time.Unix(math.MaxInt64, 0),
		} {
			res, err := r.sync(t.Context(), producer.Record{Timestamp: at}, 10)
			if !errors.Is(err, producer.ErrInvalidRecord) || res.Outcome != producer.NotWritten || producer.Retriable(err) {
				t.Errorf("%v: %+v", at, res)
			}
		}
		for _, at := range []time.Time{time.Unix(0, 0), time.Unix(0, 1e6), time.Unix(math.MaxInt64/1000-1, 999e6), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
			if res, err := r.sync(t.Context(), producer.Record{Timestamp: at}, 10); err != nil || !res.Timestamp.Equal(at) {
				t.Errorf("%v: %+v", at, res)
			}
		}
		r.judge()
	})
}

// An offset at which no log can have the records is taken for none, and told.
func TestOffsetsThatNoLogHas(t *testing.T) {
	for _, base := range []int64{math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, -2} {
		synctest.Test(t, func(t *testing.T) {
			var told atomic.Int32
			r := newRig(t, topics(1), func(c *config.Config) {
				c.Linger = 10 * time.Millisecond
				c.Logger = lines(func(rec slog.Record) {
					if rec.Message == "the broker names an impossible offset" {
						told.Add(1)
					}
				}).logger()
			})
			r.c.OnResponse(func(resp *producertest.Response) {
				if m, ok := resp.Message.(*kmsg.ProduceResponse); ok {
					m.Topics[0].Partitions[0].BaseOffset = base
				}
			})
			for range 3 {
				r.produce(t.Context(), producer.Record{}, 10)
			}
			r.flush(time.Minute)
			for n := range 3 {
				if res := r.result(n); res.Outcome != producer.Written || res.Offset != -1 {
					t.Errorf("base offset %d: record %d: %+v", base, n, res)
				}
			}
			synctest.Wait() // lines are written last
			if told.Load() == 0 || r.p.Stats().Alarms != 0 {
				t.Errorf("base offset %d: told %d times, %d alarms", base, told.Load(), r.p.Stats().Alarms)
			}
		})
	}
}
