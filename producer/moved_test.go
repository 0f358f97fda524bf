package producer_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A partition moves to a broker that is still being dialled, and its old connection
// breaks with a question of the partition on it. What is left of the question at
// the old broker must not keep the new one from looking at the partition.
func TestOldConnectionBreaksAsThePartitionMoves(t *testing.T) {
	for name, test := range map[string]struct{ lane, breaks bool }{
		"lane, stays":      {lane: true},
		"lane, breaks":     {lane: true, breaks: true},
		"in doubt, stays":  {},
		"in doubt, breaks": {breaks: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { movesWithAQuestion(t, test.lane, test.breaks) })
		})
	}
}

func movesWithAQuestion(t *testing.T, ofALane, breaks bool) {
	cc := topics(2)
	cc.Brokers = 2
	c := newCluster(t, cc)
	c.OnResponse(func(r *producertest.Response) {
		_, describes := r.Message.(*kmsg.DescribeProducersResponse)
		r.Withhold = describes && r.Broker == 0
	})
	addrs := c.Addrs()
	gate := make(chan struct{})
	var latest net.Conn // to broker 0
	p := newProducer(t, c, func(cfg *config.Config) {
		cfg.BootstrapServers = addrs[:1]
		cfg.Linger, cfg.MetadataMaxAge = 0, 100*time.Millisecond
		cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == addrs[1] {
				select {
				case <-gate:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			conn, err := c.Dial(ctx, network, addr)
			if addr == addrs[0] {
				latest = conn
			}
			return conn, err
		}
	})
	if err := p.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	produce := p.Produce
	if ofALane {
		produce = p.Lane().Produce // which asks before it begins
	} else {
		c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.Partition == 0 && a.FirstTime() {
				return producertest.Drop()
			}
			return producertest.Fault{}
		})
	}
	var began time.Time
	var at0, at1 producer.Outcome
	var took time.Duration
	produce(t.Context(), numberedOn(0, 0), func(r producer.Result) { at0, took = r.Outcome, time.Since(began) })
	time.Sleep(500 * time.Millisecond)
	synctest.Wait()
	data := latest
	p.Produce(t.Context(), numberedOn(0, 1), func(r producer.Result) { at1 = r.Outcome }) // broker 1 is dialled
	time.Sleep(100 * time.Millisecond)
	if err := c.MoveLeader("t", 0, 1); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // metadata tells
	if breaks {
		data.Close()
		time.Sleep(300 * time.Millisecond)
	}
	began = time.Now()
	close(gate)
	time.Sleep(time.Second) // no flush, which would have it looked at once more
	synctest.Wait()
	if at0 != producer.Written || at1 != producer.Written {
		t.Errorf("the partition that moved: %v after %v; the other one: %v", at0, took, at1)
	}
}

// Records behind one that ran out of time while the log was read for it: they are
// sent at once, and not when their own time is over.
func TestDeadlineWhileTheLogIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, func(cfg *config.Config) {
			cfg.Linger, cfg.DeliveryTimeout = 0, 40*time.Second
		})
		if _, err := p.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.BaseSequence != 1 || !a.FirstTime() {
				return producertest.Fault{}
			}
			c.ForgetProducers("t", 0)
			c.Stop(0)
			return producertest.Cut()
		})
		c.OnResponse(func(r *producertest.Response) {
			_, fetched := r.Message.(*kmsg.FetchResponse)
			r.Withhold = fetched
		})
		began := time.Now()
		var first, second producer.Result
		var took time.Duration
		p.Produce(t.Context(), numbered(1), func(r producer.Result) { first = r })
		time.Sleep(20 * time.Second)
		c.Start(0)
		time.Sleep(10 * time.Second)
		if n := p.Stats().Questions; n == 0 {
			t.Fatal("nothing was asked")
		}
		p.Produce(t.Context(), numbered(2), func(r producer.Result) { second, took = r, time.Since(began) })
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if first.Outcome != producer.Unknown || second.Outcome != producer.Written || took > 42*time.Second {
			t.Errorf("%v; the one behind it after %v: %v", first.Err, took, second)
		}
	})
}

// A caller that waits for room is not held up by a broker that its partition has
// left, and that has all it may have of the buffer.
func TestWaitForRoomFollowsTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(4)
		cc.Brokers = 2
		c := newCluster(t, cc)
		p := newProducer(t, c, func(cfg *config.Config) {
			cfg.Linger, cfg.MetadataMaxAge = 0, time.Second
			cfg.BufferBytes, cfg.BatchBytes, cfg.MaxBlock = 64<<10, 4<<10, config.Unbounded
		})
		for q := range int32(2) { // partition q is led by broker q
			if _, err := p.ProduceSync(t.Context(), numberedOn(0, q)); err != nil {
				t.Fatal(err)
			}
		}
		c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.Broker == 0 {
				return producertest.Hold(nil)
			}
			return producertest.Fault{}
		})
		for i := 0; p.TryProduce(numberedOn(i, 2), nil) == nil; i++ {
		}
		began := time.Now()
		var took time.Duration
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.Produce(t.Context(), numberedOn(1, 0), func(producer.Result) { took = time.Since(began) })
		}()
		time.Sleep(time.Second)
		if n := p.Stats().Blocked; n != 1 {
			t.Fatalf("%d callers wait", n)
		}
		if err := c.MoveLeader("t", 0, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if took == 0 || took > 3*time.Second {
			t.Errorf("written after %v", took)
		}
		p.Abort()
		<-done
	})
}
