package producer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// aged makes records with timestamps of their own: the first ones of now, those from
// old on of two days ago.
func aged(old int) func(int) producer.Record {
	return func(i int) producer.Record {
		r := dated(i)
		if i < old {
			r.Timestamp = time.Now()
		}
		return r
	}
}

// The timestamps of what is produced again first say nothing of those behind, by which
// the brokers forgot all of it.
func TestResumeWithYoungRecordsBeforeOldOnes(t *testing.T) {
	const written, in = 10, 13
	for _, batch := range []int{1, 170, 16 << 10} { // bytes
		for old := 1; old < written; old += 2 {
			for before := range old {
				t.Run(fmt.Sprintf("batches of %d/old from %d/checkpoint at %d", batch, old, before), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c := newCluster(t, topics(1))
						p := newProducer(t, c, func(c *config.Config) { c.BatchBytes = batch })
						l := p.Lane("t")
						first := mustCheckpoint(t, l)
						produceAll(t, l, 0, before, aged(old))
						cp := mustCheckpoint(t, l)
						if before == 0 {
							cp = first
						}
						produceAll(t, l, before, written, aged(old))
						end(t, p)
						mustForget(t, c, 0)

						l = mustResume(t, c, cp, nil)
						produceAll(t, l, before, old, aged(old)) // alone in its batch
						produceAll(t, l, old, in, aged(old))
						wantCount(t, c, 0, in)
					})
				})
			}
		}
	}
}

// Checkpoints of a quiet lane whose records have timestamps of their own do not take a
// leader's ignorance for a proof that no other owner went ahead.
func TestQuietLaneWithTimestampsBehindAnotherOwner(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		t.Run(fmt.Sprintf("resumed %v", resumed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, topics(1))
				record := aged(3)
				p := newProducer(t, c, nil)
				l := p.Lane("t")
				mustCheckpoint(t, l)
				produceAll(t, l, 0, 3, record)
				cp := mustCheckpoint(t, l)
				other := mustResume(t, c, cp, nil)
				produceAll(t, other, 3, 10, record)
				mustForget(t, c, 0)
				if resumed {
					end(t, p)
					p = newProducer(t, c, nil)
					var err error
					if l, err = p.Resume(t.Context(), cp); err != nil {
						t.Fatal(err)
					}
				}
				for range 8 { // long enough to look after the partition
					time.Sleep(time.Hour)
					cp = mustCheckpoint(t, l)
				}
				end(t, p)
				l = mustResume(t, c, cp, nil)
				produceAll(t, l, 3, 13, record)
				wantCount(t, c, 0, 13)
			})
		})
	}
}

// What a lane writes is not known when it is resumed. So its first checkpoints show
// nothing either.
func TestResumedLaneThatHasProducedNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane("t")
		cp := mustCheckpoint(t, l)
		produceAll(t, l, 0, 10, dated)
		end(t, p)
		mustForget(t, c, 0)
		time.Sleep(2 * time.Hour)
		p = newProducer(t, c, nil)
		l, err := p.Resume(t.Context(), cp)
		if err != nil {
			t.Fatal(err)
		}
		mustCheckpoint(t, l)
		time.Sleep(time.Minute) // long enough to look after the partition, if that were due
		cp = mustCheckpoint(t, l)
		end(t, p)
		l = mustResume(t, c, cp, nil)
		produceAll(t, l, 0, 13, dated)
		wantCount(t, c, 0, 13)
	})
}

// What the leader says that it has is not sent again: it may forget the lane right
// after that, and would take what it has for new.
func TestNothingThatTheLeaderHasIsSentAgain(t *testing.T) {
	for name, cc := range kinds() {
		for _, batch := range []int{1, 170, 16 << 10} { // bytes, in the second life
			for written := 1; written < 10; written += 2 {
				t.Run(fmt.Sprintf("%s/batches of %d/%d written", name, batch, written), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c := newCluster(t, cc)
						p := newProducer(t, c, nil)
						l := p.Lane("t")
						mustCheckpoint(t, l)
						produceAll(t, l, 0, 1, dated)
						cp := mustCheckpoint(t, l)
						produceAll(t, l, 1, written, dated)
						end(t, p)
						c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
							mustForget(t, c, 0)
							return producertest.Fault{}
						})
						l = mustResume(t, c, cp, func(c *config.Config) { c.BatchBytes = batch })
						for i := 1; i < 13; i++ {
							produceAll(t, l, i, i+1, dated)
						}
						wantCount(t, c, 0, 13)
					})
				})
			}
		}
	}
}
