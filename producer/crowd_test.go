package producer_test

import (
	"cmp"
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// crowded is a cluster in whose partitions of topic t many other producers wrote of
// late: so many as the test says.
func crowded(t *testing.T, partitions int32, producers func(partition int32) int) *producertest.Cluster {
	c := newCluster(t, producertest.Config{InMemory: true, Topics: map[string]int32{"t": partitions, "u": 1}})
	c.OnResponse(func(resp *producertest.Response) {
		m, ok := resp.Message.(*kmsg.DescribeProducersResponse)
		if !ok {
			return
		}
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				p := &m.Topics[i].Partitions[j]
				crowd(p, producers(p.Partition))
			}
		}
	})
	return c
}

// crowd adds so many other producers to what is said of a partition.
func crowd(p *kmsg.DescribeProducersResponseTopicPartition, producers int) {
	for n := range producers {
		p.ActiveProducers = append(p.ActiveProducers, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
			ProducerID: 1<<40 + int64(n), LastSequence: 5,
		})
	}
}

// neighbour produces a record of its own now and then, on the same connection as all
// others, until stop is closed. It returns how many, and the longest that one took.
func neighbour(t *testing.T, p *producer.Producer, stop <-chan struct{}) (n int, longest time.Duration) {
	for {
		began := time.Now()
		if _, err := p.ProduceSync(t.Context(), producer.Record{Topic: "u", Value: []byte("v")}); err != nil {
			t.Error(err)
		}
		n, longest = n+1, max(longest, time.Since(began))
		select {
		case <-stop:
			return n, longest
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// However many producers wrote to the partitions of a lane, and however many of them
// one answer would name: the lane gets through, and its neighbours do not wait for it.
func TestCrowdedPartitions(t *testing.T) {
	for name, c := range map[string]struct {
		partitions int32
		producers  func(int32) int
		longest    time.Duration
		down       float64 // bytes a second, 0: 4 MB/s
	}{
		"50 x 10,000":                 {50, func(int32) int { return 10_000 }, time.Second, 0},
		"1 x 500,000":                 {1, func(int32) int { return 500_000 }, 5 * time.Second, 0},
		"40, some of them with many":  {40, func(p int32) int { return int(p/30) * 10_000 }, time.Second, 0},
		"2 x 500,000, on a thin line": {2, func(int32) int { return 500_000 }, time.Second, 400e3},
		"300 x 20":                    {300, func(int32) int { return 20 }, 100 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := crowded(t, c.partitions, c.producers)
				p := newProducer(t, cluster, func(cfg *config.Config) { cfg.Dialer = slowly(cluster.Dial, 0, cmp.Or(c.down, 4e6)) })
				if _, err := p.ProduceSync(t.Context(), producer.Record{Topic: "u"}); err != nil {
					t.Fatal(err)
				}
				l := p.Lane()
				for i := range c.partitions {
					l.Produce(t.Context(), numberedOn(0, i), func(r producer.Result) {
						if r.Err != nil {
							t.Error(r.Err)
						}
					})
				}
				stop := make(chan struct{})
				began := time.Now()
				var took time.Duration
				go func() {
					defer close(stop)
					if err := l.Flush(t.Context()); err != nil {
						t.Error(err)
					}
					took = time.Since(began)
				}()
				n, longest := neighbour(t, p, stop)
				if longest > c.longest {
					t.Errorf("a record of a neighbour took %v", longest)
				}
				t.Logf("the lane took %v with %d questions; meanwhile %d records of a neighbour, the longest %v", took, p.Stats().Questions, n, longest)
				for i := range c.partitions {
					wantCount(t, cluster, i, 1)
				}
			})
		})
	}
}

// A checkpoint of partitions with many producers is carried on.
func TestResumeInCrowdedPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const partitions = 50
		cluster := crowded(t, partitions, func(int32) int { return 10_000 })
		p := newProducer(t, cluster, nil)
		l := p.Lane()
		for i := range int32(partitions) {
			l.Produce(t.Context(), numberedOn(0, i), nil)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		cp, err := l.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		end(t, p)
		p = newProducer(t, cluster, nil)
		if l, err = p.Resume(t.Context(), cp); err != nil {
			t.Fatal(err)
		}
		for i := range int32(partitions) {
			l.Produce(t.Context(), numberedOn(1, i), nil)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := range int32(partitions) {
			wantCount(t, cluster, i, 2)
		}
	})
}

// A question that was put elsewhere, to a leader that moved meanwhile, is put again to
// the new one before anything in doubt is sent again: whether it was on its way by
// then, or stood behind another one.
func TestMovedWhileALargeAnswerComes(t *testing.T) {
	for name, other := range map[string]int32{"it was on its way": 0, "it stood behind another": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { moveWhileAsked(t, other) })
		})
	}
}

// moveWhileAsked has both partitions in doubt, and the leader of one moved as the
// question about one, or the other, is answered.
func moveWhileAsked(t *testing.T, other int32) {
	cc := topics(2)
	cc.Brokers = 2
	c := newCluster(t, cc)
	p := newProducer(t, c, func(cfg *config.Config) {
		cfg.MetadataMaxAge, cfg.BootstrapServers = 200*time.Millisecond, c.Addrs()[:1]
		cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == c.Addrs()[1] {
				time.Sleep(5 * time.Second)
			}
			return c.Dial(ctx, network, addr)
		}
	})
	if err := errors.Join(c.MoveLeader("t", 0, 0), c.MoveLeader("t", 1, 0)); err != nil {
		t.Fatal(err)
	}
	c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
		if a.FirstTime() && a.BaseSequence%5 == 4 {
			return producertest.AppendThen(7).NoOffset()
		}
		return producertest.Fault{}
	})
	asked, moved := 0, false
	c.OnResponse(func(r *producertest.Response) {
		m, ok := r.Message.(*kmsg.DescribeProducersResponse)
		if !ok || r.Broker != 0 {
			return
		}
		at := &m.Topics[0].Partitions[0]
		crowd(at, 10_000)
		if asked++; asked > 2 && !moved {
			moved, r.Delay = true, 2*time.Second
			away := at.Partition ^ other
			if err := errors.Join(c.MoveLeader("t", away, 1), c.ForgetProducers("t", away)); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 10 {
		for part := range int32(2) {
			p.Produce(t.Context(), numberedOn(i, part), func(r producer.Result) {
				if i < 9 && r.Err != nil || r.Outcome == producer.NotWritten {
					t.Errorf("record %d: %v", i, r.Err)
				}
			})
		}
		if err := p.Flush(t.Context()); err != nil && i < 9 {
			t.Fatal(err)
		}
	}
	if !moved {
		t.Error("nothing moved")
	}
	wantCount(t, c, 0, 10)
	wantCount(t, c, 1, 10)
}
