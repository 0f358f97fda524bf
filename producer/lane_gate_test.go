package producer_test

import (
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

// slowSecondBroker is a cluster of two brokers, of which the second takes 5 s to be
// connected to, and a producer there.
func slowSecondBroker(t *testing.T) (*producertest.Cluster, *producer.Producer) {
	cc := topics(1)
	cc.Brokers = 2
	c := newCluster(t, cc)
	return c, newProducer(t, c, func(cfg *config.Config) {
		cfg.MetadataMaxAge, cfg.BootstrapServers = 200*time.Millisecond, c.Addrs()[:1]
		cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == c.Addrs()[1] {
				time.Sleep(5 * time.Second)
			}
			return c.Dial(ctx, network, addr)
		}
	})
}

// movesAsItAnswers leaves the batch with sequence 10 in doubt. When the first broker
// is asked about it the leader moves to one that knows nothing of the producer, and
// the answer comes 2 s later. *moved says whether anybody asked.
func movesAsItAnswers(t *testing.T, c *producertest.Cluster) (moved *bool) {
	c.OnProduce(refuseOnce(10, producertest.AppendThen(7).NoOffset()))
	moved = new(bool)
	c.OnResponse(func(r *producertest.Response) {
		if _, ok := r.Message.(*kmsg.DescribeProducersResponse); ok && r.Broker == 0 && !*moved {
			*moved, r.Delay = true, 2*time.Second
			if err := errors.Join(c.MoveLeader("t", 0, 1), c.ForgetProducers("t", 0)); err != nil {
				t.Error(err)
			}
		}
	})
	return moved
}

// A lane asks before each write from the gate, not only before its first success.
// Here the leader moves while a question is open, and its answer comes when nobody
// is connected to the new leader yet: nothing else tells the lane to ask there.
// That broker knows nothing of the producer, so it would take for new what is in
// doubt and in its log; the lane finds it there.
func TestLaneAsksANewLeaderWhatIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := slowSecondBroker(t)
		l := p.Lane()
		for i := range 10 { // its first success
			if _, err := l.ProduceSync(t.Context(), numbered(i)); err != nil {
				t.Fatal(err)
			}
		}
		moved := movesAsItAnswers(t, c)
		res, err := l.ProduceSync(t.Context(), numbered(10))
		if err != nil || res.Outcome != producer.Written || l.Err() != nil {
			t.Errorf("%+v, lane: %v", res, l.Err())
		}
		if !*moved {
			t.Error("nobody asked")
		}
		wantCount(t, c, 0, 11)
	})
}

// Two processes carry the same checkpoint on. The one that was quiet asks after
// each change of leader how far the other came, and writes only what is missing: a
// batch of its own boundaries would be refused, whatever is in it.
func TestLaneAsksHowFarTheOtherCame(t *testing.T) {
	for name, cc := range kinds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cc.Brokers = 2
				c := newCluster(t, cc)
				first := newProducer(t, c, nil).Lane()
				for i := range 10 {
					first.Produce(t.Context(), numbered(i), nil)
				}
				cp, err := first.Checkpoint(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				var lanes [2]*producer.Lane
				var owners [2]*producer.Producer
				for i := range lanes {
					owners[i] = newProducer(t, c, nil)
					if lanes[i], err = owners[i].Resume(t.Context(), cp); err != nil {
						t.Fatal(err)
					}
				}
				at := [2]int{10, 10}
				produce := func(i, n int) {
					t.Helper()
					for range n {
						lanes[i].Produce(t.Context(), numbered(at[i]), nil)
						at[i]++
					}
					if err := errors.Join(lanes[i].Flush(t.Context()), lanes[i].Err()); err != nil {
						t.Fatal(err)
					}
				}
				for round := range 6 {
					ahead := round % 2
					produce(ahead, at[1-ahead]+7+round-at[ahead])
					if err := c.MoveLeader("t", 0, int32(1-round%2)); err != nil {
						t.Fatal(err)
					}
					time.Sleep(10 * time.Minute) // until both know
					produce(1-ahead, 3)
				}
				wantCount(t, c, 0, max(at[0], at[1]))
				for i, p := range owners {
					if n := p.Stats().OutOfOrder; n > 0 {
						t.Errorf("%d batches of lane %d were refused as out of order", n, i)
					}
				}
			})
		})
	}
}

// So does a plain producer that has a batch in doubt when the leader moves: what the
// former leader answers later is no answer, and the new one is asked before anything
// is sent again.
func TestNewLeaderIsAskedWhatIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := slowSecondBroker(t)
		for i := range 10 {
			if _, err := p.ProduceSync(t.Context(), numbered(i)); err != nil {
				t.Fatal(err)
			}
		}
		moved := movesAsItAnswers(t, c)
		res, err := p.ProduceSync(t.Context(), numbered(10))
		if !*moved || res.Outcome == producer.NotWritten {
			t.Errorf("moved %v: %+v, %v", *moved, res, err)
		}
		wantCount(t, c, 0, 11)
	})
}
