package producer_test

import (
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a verification saw of the log above the high watermark may be truncated,
// and other records take the offsets. The lane reads those, and takes nobody for
// having lost what was never acknowledged.
func TestReadingBeginsBelowTheHighWatermark(t *testing.T) {
	for name, more := range map[string]int{"the log ends before that": 0, "a former process wrote there": 5} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, topics(1))
				p := newProducer(t, c, nil)
				l := p.Lane("t")
				produceAll(t, l, 0, 5, numbered)
				c.OnResponse(func(r *producertest.Response) {
					if m, ok := r.Message.(*kmsg.OffsetForLeaderEpochResponse); ok {
						m.Topics[0].Partitions[0].EndOffset += 3 // are not replicated yet
					}
				})
				mustCheckpoint(t, l)
				for range 3 { // with verifications
					time.Sleep(time.Hour)
					mustCheckpoint(t, l)
					synctest.Wait()
				}
				cp := mustCheckpoint(t, l)
				c.OnResponse(nil) // they are gone
				produceAll(t, l, 5, 5+more, numbered)
				end(t, p)
				time.Sleep(72 * time.Hour)
				mustForget(t, c, 0)
				l = mustResume(t, c, cp, nil)
				produceAll(t, l, 5, 12, numbered)
				wantCount(t, c, 0, 12)
			})
		})
	}
}

// A lane that passed over what a former process wrote does not know at which
// offset its last record is. Its checkpoint says from where on the log has to be
// read all the same, and does not need what retention has deleted before.
func TestReadingBeginsBehindTheLastKnownOffset(t *testing.T) {
	for name, again := range map[string]int{"once": 1, "in two lives": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, topics(1))
				p := newProducer(t, c, nil)
				l := p.Lane("t")
				produceAll(t, l, 0, 5, numbered)
				cp := mustCheckpoint(t, l)
				produceAll(t, l, 5, 20, numbered)
				end(t, p)
				for i := range again {
					p = newProducer(t, c, nil)
					var err error
					if l, err = p.Resume(t.Context(), cp); err != nil {
						t.Fatal(err)
					}
					produceAll(t, l, 5+5*i, 10+5*i, numbered)
					cp = mustCheckpoint(t, l)
					end(t, p)
				}
				time.Sleep(72 * time.Hour)
				mustForget(t, c, 0)
				c.OnResponse(func(r *producertest.Response) {
					q, _ := r.Request.(*kmsg.FetchRequest)
					if m, ok := r.Message.(*kmsg.FetchResponse); ok && q.Topics[0].Partitions[0].FetchOffset < 5 {
						m.Topics[0].Partitions[0].ErrorCode = 1 // OFFSET_OUT_OF_RANGE: the log begins later
						m.Topics[0].Partitions[0].RecordBatches = nil
					}
				})
				l = mustResume(t, c, cp, nil)
				produceAll(t, l, 5+5*again, 25, numbered)
				wantCount(t, c, 0, 25)
			})
		})
	}
}

// The leader moves while its log is read, again and again, at the very moments at
// which pieces of the log arrive: the reading that follows the leader begins with
// what was known for sure. The race detector has its say.
func TestLeaderMovesWhileItsLogIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.Brokers = 2
		c := newCluster(t, cc)
		p := newProducer(t, c, func(c *config.Config) { c.BatchBytes = 1 })
		l := p.Lane("t")
		cp := mustCheckpoint(t, l)
		produceAll(t, l, 0, 20, dated)
		end(t, p)
		mustForget(t, c, 0)
		l = mustResume(t, c, cp, func(c *config.Config) {
			c.MetadataMaxAge, c.RetryBackoff = 50*time.Millisecond, 10*time.Millisecond
		})
		c.OnResponse(func(r *producertest.Response) {
			m, ok := r.Message.(*kmsg.FetchResponse)
			if !ok || len(m.Topics[0].Partitions[0].RecordBatches) == 0 {
				return
			}
			log := &m.Topics[0].Partitions[0].RecordBatches
			*log = (*log)[:12+binary.BigEndian.Uint32((*log)[8:])] // one batch
			r.Delay = 500 * time.Millisecond                       // as often as metadata is asked for, times ten
		})
		for i := range 8 {
			time.AfterFunc(time.Duration(220+500*i)*time.Millisecond, func() {
				if err := c.MoveLeader("t", 0, int32(1-i%2)); err != nil {
					t.Error(err)
				}
			})
		}
		for i := range 25 {
			l.Produce(t.Context(), dated(i), nil)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		wantCount(t, c, 0, 25)
	})
}
