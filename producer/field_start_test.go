package producer_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// onInitProducerID lets a test change the nth answer, from 0, which it counts.
func onInitProducerID(asked *atomic.Int64, change func(n int, resp *producertest.Response, m *kmsg.InitProducerIDResponse)) func(*producertest.Cluster) {
	return func(c *producertest.Cluster) {
		c.OnResponse(func(resp *producertest.Response) {
			if m, ok := resp.Message.(*kmsg.InitProducerIDResponse); ok {
				change(int(asked.Add(1))-1, resp, m)
			}
		})
	}
}

// K34: the right to be an idempotent producer is missing. The records fail
// quickly, with that reason, and Flush returns.
func TestK34NoRightToProduce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		r := newSpoiltRig(t, topics(2), onInitProducerID(&asked, func(_ int, _ *producertest.Response, m *kmsg.InitProducerIDResponse) {
			m.ErrorCode, m.ProducerID = 31, -1
		}), nil)
		for range 10 {
			r.produce(t.Context(), producer.Record{}, 10)
		}
		r.flush(6 * time.Second)
		for n := range 10 {
			if res := r.result(n); res.Outcome != producer.NotWritten || !errors.Is(res.Err, producer.Code(31)) {
				t.Errorf("%+v", res)
			}
		}
		if err := r.p.Ping(r.within(5 * time.Second)); !errors.Is(err, producer.Code(31)) {
			t.Errorf("ping: %v", err)
		}
		time.Sleep(time.Minute)
		if n := asked.Load(); n > 100 {
			t.Errorf("asked %d times in a minute", n)
		}
		// The right is granted: the same producer goes on.
		r.c.OnResponse(nil)
		if res, err := r.sync(r.within(5*time.Second), producer.Record{}, 10); err != nil {
			t.Errorf("%+v", res)
		}
		r.judge()
	})
}

// K35: what is transient when the producer ID is asked for is asked again, and
// the records go out then.
func TestK35TransientInitProducerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		r := newSpoiltRig(t, topics(2), onInitProducerID(&asked, func(n int, resp *producertest.Response, m *kmsg.InitProducerIDResponse) {
			switch codes := []int16{7, 14, 15, 16, 41, 51, -1, 999}; {
			case n < len(codes):
				m.ErrorCode, m.ProducerID = codes[n], -1
			case n == len(codes):
				resp.CutAfter = 0
			case n == len(codes)+1:
				resp.CutAfter, resp.Orderly = 9, true
			case n == len(codes)+2:
				resp.Withhold = true
			}
		}), nil)
		for range 10 {
			r.produce(t.Context(), producer.Record{}, 10)
		}
		if sum := r.judge(); sum.written != 10 {
			t.Errorf("%+v %v", sum, r.firstError())
		}
		if n := asked.Load(); n != 12 {
			t.Errorf("asked %d times", n)
		}
	})
}

// K35: Close in the middle of asking does not hang.
func TestK35CloseWhileAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		r := newSpoiltRig(t, topics(1), onInitProducerID(&asked, func(_ int, resp *producertest.Response, _ *kmsg.InitProducerIDResponse) { resp.Withhold = true }), nil)
		n := r.produce(t.Context(), producer.Record{}, 10)
		time.Sleep(time.Second)
		begun := time.Now()
		if err := r.p.Close(r.within(time.Second)); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("close: %v after %v", err, time.Since(begun))
		}
		if res := r.result(n); res.Outcome != producer.NotWritten || !errors.Is(res.Err, producer.ErrClosed) {
			t.Errorf("%+v", res)
		}
		r.judgeClosed()
	})
}

// onTopic lets a test change what metadata says of topic t, by the number of
// the answer that names it, from 0.
func onTopic(change func(n int, m *kmsg.MetadataResponseTopic)) func(*producertest.Cluster) {
	n := 0
	return func(c *producertest.Cluster) {
		c.OnResponse(func(resp *producertest.Response) {
			m, ok := resp.Message.(*kmsg.MetadataResponse)
			if !ok {
				return
			}
			for i := range m.Topics {
				if t := &m.Topics[i]; t.Topic != nil && *t.Topic == "t" {
					change(n, t)
					n++
				}
			}
		})
	}
}

// K50: a topic is being created: unknown, then no leader, then leader -1, then
// there. The records wait, and are written.
func TestK50TopicIsBeingCreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSpoiltRig(t, topics(2), onTopic(func(n int, m *kmsg.MetadataResponseTopic) {
			switch n {
			case 0, 1:
				m.ErrorCode, m.Partitions = 3, nil
			case 2:
				m.ErrorCode, m.Partitions = 5, nil
			case 3:
				for i := range m.Partitions {
					m.Partitions[i].ErrorCode, m.Partitions[i].Leader = 5, -1
				}
			}
		}), nil)
		begun := time.Now()
		for range 10 {
			r.produce(t.Context(), producer.Record{}, 10)
		}
		r.flush(time.Minute)
		if d := time.Since(begun); d > 3*time.Second {
			t.Errorf("took %v", d)
		}
		if sum := r.judge(); sum.written != 10 {
			t.Errorf("%+v %v", sum, r.firstError())
		}
	})
}

// K50: the broker creates topics on demand, and only if the client says so.
func TestK50AutoCreate(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		t.Run(fmt.Sprint(allowed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cc := topics(1)
				cc.AutoCreateTopics = 3
				r := newRig(t, cc, func(c *config.Config) { c.AllowAutoCreateTopics = allowed })
				res, err := r.sync(t.Context(), producer.Record{Topic: "new"}, 10)
				if allowed != (err == nil) || !allowed && !errors.Is(err, producer.Code(3)) {
					t.Errorf("%+v", res)
				}
				if _, _, err := r.c.Leader("new", 2); allowed != (err == nil) {
					t.Errorf("the topic: %v", err)
				}
				r.judge()
			})
		})
	}
}

// K50: a topic that does not exist fails its records after some seconds, not
// after two minutes, again and again, and others are not held up. Once it
// exists it is used at once.
func TestK50UnknownTopicIsLookedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		for range 3 {
			begun := time.Now()
			n := r.produce(t.Context(), producer.Record{Topic: "new"}, 10)
			if res, err := r.sync(t.Context(), producer.Record{}, 10); err != nil || time.Since(begun) > time.Second {
				t.Errorf("the neighbour: %+v after %v", res, time.Since(begun))
			}
			r.flush(time.Minute)
			if res := r.result(n); res.Outcome != producer.NotWritten || !errors.Is(res.Err, producer.Code(3)) {
				t.Errorf("%+v", res)
			}
			if d := time.Since(begun); d < 2*time.Second || d > 15*time.Second {
				t.Errorf("took %v", d)
			}
			time.Sleep(time.Minute)
		}
		if err := r.c.CreateTopic("new", 1); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if res, err := r.sync(t.Context(), producer.Record{Topic: "new"}, 10); err != nil || time.Since(begun) > time.Second {
			t.Errorf("%+v after %v", res, time.Since(begun))
		}
		r.judge()
	})
}

// K52: no broker answers when the producer starts. All bootstrap servers are
// tried, again and again, and one that hangs does not keep the others from
// being tried.
func TestK52ClusterStartsLate(t *testing.T) {
	for _, hang := range []int{0, 1, 2} {
		t.Run(fmt.Sprint(hang, " hangs"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := time.Now().Add(5 * time.Second)
				var dials atomic.Int64
				r := newRig(t, topics(1), func(c *config.Config) {
					dial := c.Dialer
					good := c.BootstrapServers[0]
					c.BootstrapServers = []string{"seed-0:1", "seed-1:1", "seed-2:1"}
					c.BootstrapServers[(hang+1)%3] = good
					c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
						dials.Add(1)
						switch {
						case addr == fmt.Sprintf("seed-%d:1", hang):
							<-ctx.Done()
							return nil, ctx.Err()
						case addr != good || time.Now().Before(up):
							return nil, errors.New("connection refused")
						}
						return dial(ctx, network, addr)
					}
				})
				for range 10 {
					r.produce(t.Context(), producer.Record{}, 10)
				}
				begun := time.Now()
				r.flush(time.Minute)
				if d := time.Since(begun); d > 25*time.Second {
					t.Errorf("took %v", d)
				}
				if n := dials.Load(); n > 100 {
					t.Errorf("%d dials", n)
				}
				if sum := r.judge(); sum.written != 10 {
					t.Errorf("%+v %v", sum, r.firstError())
				}
			})
		})
	}
}

// K52: all brokers that were known are gone for good, and new ones are at the
// bootstrap addresses: they are asked again.
func TestK52BootstrapServersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var old atomic.Bool
		r := newRig(t, topics(1), func(c *config.Config) {
			dial, good := c.Dialer, c.BootstrapServers[0]
			c.BootstrapServers = []string{"seed:1"}
			c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				switch {
				case addr == "seed:1":
					return dial(ctx, network, good)
				case old.Load():
					return nil, errors.New("connection refused")
				}
				return dial(ctx, network, addr)
			}
		})
		r.sync(t.Context(), producer.Record{}, 10)
		old.Store(true)
		r.c.Stop(0)
		r.c.Start(0)
		n := r.produce(t.Context(), producer.Record{}, 10)
		time.Sleep(30 * time.Second)
		if err := r.p.Ping(r.within(time.Second)); err != nil {
			t.Errorf("ping: %v", err)
		}
		old.Store(false)
		r.flush(time.Minute)
		if res := r.result(n); res.Err != nil {
			t.Errorf("%+v", res)
		}
		r.judge()
	})
}

// K52: whoever is known is tried, each once in a round, and the bootstrap
// servers after them.
func TestK52EveryKnownBrokerIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.Brokers = 8
		var mu sync.Mutex
		var dials []string
		r := newRig(t, cc, func(c *config.Config) {
			dial, good := c.Dialer, c.BootstrapServers[0]
			c.BootstrapServers = []string{"seed:1"}
			c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				mu.Lock()
				dials = append(dials, addr)
				mu.Unlock()
				if addr == "seed:1" {
					addr = good
				}
				return dial(ctx, network, addr)
			}
		})
		if err := r.p.Ping(r.within(time.Second)); err != nil {
			t.Fatal(err)
		}
		for id := range int32(8) {
			if err := r.c.Stop(id); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		mu.Lock()
		dials = nil
		mu.Unlock()
		if err := r.p.Ping(r.within(10 * time.Second)); err == nil {
			t.Error("no error")
		}
		mu.Lock()
		defer mu.Unlock()
		for round := range 3 {
			seen := map[string]int{}
			for _, addr := range dials[min(9*round, len(dials)):min(9*round+9, len(dials))] {
				seen[addr]++
			}
			if len(seen) != 9 {
				t.Errorf("round %d: %v", round, seen)
			}
		}
	})
}
