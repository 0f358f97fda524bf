package producer_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// dated is numbered with a timestamp from two days ago: brokers forget a
// producer by the timestamps of its records (KIP-854).
func dated(i int) producer.Record {
	r := numbered(i)
	r.Timestamp = time.Now().Add(-48 * time.Hour)
	return r
}

// mustForget makes the brokers forget all producers of partitions of topic t.
func mustForget(t *testing.T, c *producertest.Cluster, partitions ...int32) {
	t.Helper()
	for _, p := range partitions {
		if err := c.ForgetProducers("t", p); err != nil {
			t.Fatal(err)
		}
	}
}

// produceAll produces records to a lane, and wants them all written.
func produceAll(t *testing.T, l *producer.Lane, from, to int, record func(int) producer.Record) {
	t.Helper()
	written := 0
	for i := from; i < to; i++ {
		l.Produce(t.Context(), record(i), func(r producer.Result) {
			if r.Outcome == producer.Written {
				written++
			} else {
				t.Errorf("record %d: %v", i, r.Err)
			}
		})
	}
	if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
		t.Fatal(err)
	}
	if written != to-from {
		t.Errorf("%d of %d records written", written, to-from)
	}
}

func mustCheckpoint(t *testing.T, l *producer.Lane) producer.Checkpoint {
	t.Helper()
	cp, err := l.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return stored(t, cp)
}

// stored is what is read back of a checkpoint that was stored.
func stored(t *testing.T, cp producer.Checkpoint) (back producer.Checkpoint) {
	t.Helper()
	b, err := cp.MarshalBinary()
	if err == nil {
		err = back.UnmarshalBinary(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func mustResume(t *testing.T, c *producertest.Cluster, cp producer.Checkpoint, change func(*config.Config)) *producer.Lane {
	t.Helper()
	l, err := newProducer(t, c, change).Resume(t.Context(), cp)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The former process wrote more than its checkpoint tells, and the brokers have
// forgotten it, whatever made them: the lane finds in the log what is there.
func TestResumeWhereBrokersForgot(t *testing.T) {
	young := func(i int) producer.Record {
		r := numbered(i)
		r.Timestamp = time.Now()
		return r
	}
	mixed := func(i int) producer.Record {
		if i%2 == 0 {
			return young(i)
		}
		return dated(i)
	}
	late := func(i int) producer.Record { // only the last ones are old
		if i < 8 {
			return young(i)
		}
		return dated(i)
	}
	for name, test := range map[string]struct {
		record func(int) producer.Record
		down   time.Duration
		batch  int // bytes, in the second life
	}{
		"old timestamps":                {dated, 10 * time.Minute, 16 << 10},
		"old timestamps, other batches": {dated, 10 * time.Minute, 170},
		"old and new ones in turn":      {mixed, 10 * time.Minute, 16 << 10},
		"old ones at the end":           {late, 10 * time.Minute, 16 << 10},
		"down for days":                 {numbered, 72 * time.Hour, 16 << 10},
		"down for days, small batches":  {numbered, 72 * time.Hour, 1},
	} {
		for _, declared := range []bool{false, true} {
			for _, before := range []int{0, 5} {
				t.Run(fmt.Sprintf("%s/declared %v/%d before", name, declared, before), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c := newCluster(t, topics(2))
						p := newProducer(t, c, nil)
						l := p.Lane()
						if declared {
							l = p.Lane("t")
						}
						first := mustCheckpoint(t, l)
						produceAll(t, l, 0, before, test.record)
						cp := mustCheckpoint(t, l)
						if before == 0 {
							cp = first
						}
						produceAll(t, l, before, 10, test.record)
						end(t, p)
						time.Sleep(test.down)
						mustForget(t, c, 0, 1)
						l = mustResume(t, c, cp, func(c *config.Config) { c.BatchBytes = test.batch })
						produceAll(t, l, before, 13, test.record)
						wantCount(t, c, 0, 13)
					})
				})
			}
		}
	}
}

// What the former process wrote is handed over record by record, while the log
// already shows all of it.
func TestResumeWhereBrokersForgotOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		cp := mustCheckpoint(t, l)
		produceAll(t, l, 0, 10, dated)
		end(t, p)
		mustForget(t, c, 0)
		l = mustResume(t, c, cp, nil)
		for i := range 15 {
			produceAll(t, l, i, i+1, dated)
		}
		wantCount(t, c, 0, 15)
	})
}

// Where retention has deleted what would have to be read, nothing is written.
func TestResumeWhereTheLogIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		cp := mustCheckpoint(t, l)
		produceAll(t, l, 0, 5, numbered)
		end(t, p)
		time.Sleep(72 * time.Hour)
		mustForget(t, c, 0)
		answerFetches(c, 1) // OFFSET_OUT_OF_RANGE: the log begins later
		l = mustResume(t, c, cp, nil)
		r, _ := l.ProduceSync(t.Context(), numbered(0))
		if r.Outcome != producer.Unknown || !errors.Is(l.Err(), producer.ErrStateLost) {
			t.Errorf("%v, the lane says %v", r.Outcome, l.Err())
		}
		wantCount(t, c, 0, 5)
	})
}

// answerFetches makes each Fetch fail with a code.
func answerFetches(c *producertest.Cluster, code int16) {
	c.OnResponse(func(r *producertest.Response) {
		if m, ok := r.Message.(*kmsg.FetchResponse); ok {
			for i := range m.Topics {
				for j := range m.Topics[i].Partitions {
					m.Topics[i].Partitions[j].ErrorCode = code
					m.Topics[i].Partitions[j].RecordBatches = nil
				}
			}
		}
	})
}

// The first record of a lane is old, its answer is lost, and the broker forgets
// the producer by its timestamp.
func TestOldFirstRecordInDoubt(t *testing.T) {
	for name, lane := range map[string]bool{"plain": false, "lane": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, topics(1))
				p := newProducer(t, c, nil)
				drop := true
				c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
					if drop {
						drop = false
						return producertest.Drop()
					}
					return producertest.Fault{}
				})
				var res producer.Result
				if done := func(r producer.Result) { res = r }; lane {
					p.Lane().Produce(t.Context(), dated(0), done)
				} else {
					p.Produce(t.Context(), dated(0), done)
				}
				synctest.Wait() // it is appended, and the answer is lost
				mustForget(t, c, 0)
				if err := p.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				wantCount(t, c, 0, 1)
				if lane && res.Outcome != producer.Written || res.Outcome == producer.NotWritten {
					t.Errorf("%v: %v", res.Outcome, res.Err)
				}
			})
		})
	}
}

// Two owners of a lane, both awake, one a day behind the other: the brokers have
// forgotten what the quick one wrote when the slow one gets there. Checkpoints of
// where the slow one stands prove nothing about that.
func TestTwoOwnersADayApart(t *testing.T) {
	for name, restart := range map[string]bool{"the slow one goes on": false, "it is resumed from its latest checkpoint": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, topics(2))
				slow := newProducer(t, c, nil).Lane()
				produceAll(t, slow, 0, 5, numbered)
				cp := mustCheckpoint(t, slow)
				quick := mustResume(t, c, cp, nil)
				produceAll(t, quick, 5, 10, numbered)
				on1 := func(i int) producer.Record { return numberedOn(i, 1) }
				produceAll(t, quick, 0, 5, on1) // where the slow one has written nothing yet
				for range 25 {
					time.Sleep(time.Hour)
					cp = mustCheckpoint(t, slow)
					mustCheckpoint(t, quick)
				}
				mustForget(t, c, 0, 1)
				if restart {
					slow = mustResume(t, c, cp, nil)
				}
				produceAll(t, slow, 5, 12, numbered)
				produceAll(t, slow, 0, 7, on1)
				wantCount(t, c, 0, 12)
				wantCount(t, c, 1, 7)
			})
		})
	}
}

// A partition may be quiet for as long as it likes, in a lane that was resumed
// and in one that was not, while checkpoints are taken; also where retention has
// long deleted what the lane wrote, and nothing can be read any more.
func TestQuietPartitions(t *testing.T) {
	for name, resumed := range map[string]bool{"first": false, "resumed": true} {
		for what, first := range map[string]bool{"its next record": false, "its first record": true} {
			t.Run(name+"/"+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(t, topics(3))
					p := newProducer(t, c, nil)
					l := p.Lane()
					for q := range int32(2) {
						produceAll(t, l, 0, 1, func(i int) producer.Record { return numberedOn(i, q) })
					}
					if cp := mustCheckpoint(t, l); resumed {
						end(t, p)
						l = mustResume(t, c, cp, nil)
					}
					for i := range 30 {
						time.Sleep(time.Hour)
						produceAll(t, l, 1+i, 2+i, numbered)
						mustCheckpoint(t, l)
						synctest.Wait() // for the verification that a checkpoint begins
					}
					mustForget(t, c, 1, 2)
					answerFetches(c, 1)
					on := func(i int) producer.Record { return numberedOn(i, 1) }
					if first {
						produceAll(t, l, 0, 1, func(i int) producer.Record { return numberedOn(i, 2) })
						wantCount(t, c, 2, 1)
					} else {
						produceAll(t, l, 1, 2, on)
						wantCount(t, c, 1, 2)
					}
				})
			})
		}
	}
}

// A host that stood still for long once does no harm to lanes that are made
// later, and those from before find out in the log what happened meanwhile.
func TestLanesAfterALongSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		before := p.Lane()
		produceAll(t, before, 0, 1, numbered)
		mustCheckpoint(t, before)
		time.Sleep(13 * time.Hour)
		for range 2 {
			if _, err := p.Lane().ProduceSync(t.Context(), numbered(0)); err != nil {
				t.Errorf("a new lane: %v", err)
			}
		}
		mustForget(t, c, 0)
		produceAll(t, before, 1, 3, numbered)
	})
}
