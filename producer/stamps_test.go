package producer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/producer"
)

// A lane whose records bring timestamps takes none without, and the other way round,
// also in its next life: brokers forget by timestamps, so it must be known what those
// of another owner may be, which is ahead.
func TestLaneRefusesMixedTimestamps(t *testing.T) {
	young := func(i int) producer.Record {
		r := numbered(i)
		r.Timestamp = time.Now()
		return r
	}
	for name, test := range map[string]struct{ first, then func(int) producer.Record }{
		"none, then own": {numbered, dated},
		"own, then none": {dated, numbered},
		"none, then now": {numbered, young},
	} {
		for life, resumed := range map[string]bool{"in one life": false, "in two": true} {
			t.Run(name+"/"+life, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(t, topics(1))
					p := newProducer(t, c, nil)
					l := p.Lane("t")
					mustCheckpoint(t, l)
					produceAll(t, l, 0, 3, test.first)
					if cp := mustCheckpoint(t, l); resumed {
						end(t, p)
						l = mustResume(t, c, cp, nil)
					}
					r, err := l.ProduceSync(t.Context(), test.then(3))
					if r.Outcome != producer.Unknown || !errors.Is(err, producer.ErrInvalidRecord) || l.Err() == nil {
						t.Errorf("%v, %v", r.Outcome, err)
					}
					wantCount(t, c, 0, 3)
				})
			})
		}
	}
}

// What the records of a lane are like is not known before the first one. Until then a
// leader that knows nothing proves nothing, however often it is asked.
func TestResumedLaneThatWaitsForItsFirstRecord(t *testing.T) {
	for _, hours := range []int{0, 2, 30} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, topics(1))
			p := newProducer(t, c, nil)
			l := p.Lane("t")
			cp := mustCheckpoint(t, l)
			produceAll(t, l, 0, 10, dated)
			end(t, p)
			mustForget(t, c, 0)
			l = mustResume(t, c, cp, nil)
			for range hours {
				time.Sleep(time.Hour)
				cp = mustCheckpoint(t, l)
				synctest.Wait()
			}
			l = mustResume(t, c, cp, nil)
			produceAll(t, l, 0, 13, dated)
			wantCount(t, c, 0, 13)
		})
	}
}
