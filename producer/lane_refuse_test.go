package producer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Where carrying on could only be a guess, Resume refuses and says why.
func TestResumeRefuses(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*producertest.Cluster, *producer.Checkpoint) error
		want  error
	}{
		{"topic recreated", func(c *producertest.Cluster, _ *producer.Checkpoint) error {
			return errors.Join(c.DeleteTopic("t"), c.CreateTopic("t", 1))
		}, producer.ErrTopicRecreated},
		{"a newer epoch", func(_ *producertest.Cluster, cp *producer.Checkpoint) error {
			cp.Partitions[0].Epoch--
			return nil
		}, producer.ErrCheckpoint},
		{"ahead of the log", func(_ *producertest.Cluster, cp *producer.Checkpoint) error {
			cp.Partitions[0].Next += 10
			return nil
		}, producer.ErrDataLoss},
		{"another cluster", func(_ *producertest.Cluster, cp *producer.Checkpoint) error {
			cp.ClusterID = "elsewhere"
			return nil
		}, producer.ErrOtherCluster},
		{"no producer id", func(_ *producertest.Cluster, cp *producer.Checkpoint) error {
			*cp = producer.Checkpoint{ProducerID: -1, Taken: cp.Taken}
			return nil
		}, producer.ErrCheckpoint},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, topics(1))
				p := newProducer(t, c, nil)
				l := p.Lane()
				for i := range 5 {
					l.Produce(t.Context(), numbered(i), nil)
				}
				cp, err := l.Checkpoint(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				end(t, p)
				if err := test.spoil(c, &cp); err != nil {
					t.Fatal(err)
				}
				l, err = newProducer(t, c, nil).Resume(t.Context(), cp)
				if !errors.Is(err, test.want) || l != nil {
					t.Errorf("%v, want %v", err, test.want)
				}
			})
		})
	}
}

// Without an answer to the question how far the former process came there is no
// resuming.
func TestResumeNeedsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, silent())
		p := newProducer(t, c, nil)
		l := p.Lane()
		cp, err := l.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.ProduceSync(t.Context(), numbered(0)); !errors.Is(err, producer.ErrCannotAsk) {
			t.Errorf("a lane: %v, want %v", err, producer.ErrCannotAsk)
		}
		cp.Partitions = append(cp.Partitions, producer.PartitionCheckpoint{Topic: "t", Next: 7, Offset: 6})
		if _, err := p.Resume(t.Context(), cp); !errors.Is(err, producer.ErrCannotAsk) {
			t.Errorf("%v, want %v", err, producer.ErrCannotAsk)
		}
	})
}

// Resume waits for brokers until its context ends, but no longer than its
// producer lives.
func TestResumeEndsWithItsProducer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		l.Produce(t.Context(), numbered(0), nil)
		cp, err := l.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.Stop(0)
		p2 := newProducer(t, c, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var wg sync.WaitGroup
		began := time.Now()
		wg.Go(func() {
			_, err := p2.Resume(ctx, cp)
			t.Logf("Resume after %v: %v", time.Since(began), err)
			if time.Since(began) > time.Minute {
				t.Error("Resume outlives the producer")
			}
		})
		time.Sleep(time.Second)
		end(t, p2)
		wg.Wait()
	})
}

// A broker that answers for a moment as a deposed leader does, with less than was
// acknowledged, has lost nothing: Resume looks again.
func TestResumeDoesNotBelieveItsFirstLook(t *testing.T) {
	for lies, lasting := range map[int]bool{1: false, 3: false, 1 << 20: true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, topics(1))
			p := newProducer(t, c, nil)
			l := p.Lane()
			produceAll(t, l, 0, 5, numbered)
			cp := mustCheckpoint(t, l)
			end(t, p)
			left := lies
			c.OnResponse(func(r *producertest.Response) {
				if m, ok := r.Message.(*kmsg.DescribeProducersResponse); ok && left > 0 {
					left--
					for i := range m.Topics[0].Partitions[0].ActiveProducers {
						m.Topics[0].Partitions[0].ActiveProducers[i].LastSequence = 2
					}
				}
			})
			began := time.Now()
			l, err := newProducer(t, c, nil).Resume(t.Context(), cp)
			switch {
			case lasting && (!errors.Is(err, producer.ErrDataLoss) || time.Since(began) < 10*time.Second):
				t.Errorf("%v after %v", err, time.Since(began))
			case !lasting && err != nil:
				t.Errorf("after %d answers of another broker: %v", lies, err)
			case !lasting:
				produceAll(t, l, 5, 8, numbered)
				wantCount(t, c, 0, 8)
			}
		})
	}
}
