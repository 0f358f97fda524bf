package producer_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/atomic"
)

// caughtUp is a pair of resumed lanes that have done again what a former process
// wrote: nothing new proves it, so that they wait for the high watermark. Slow has
// the partitions below the last one, good the last one.
type caughtUp struct {
	c          *producertest.Cluster
	p          *producer.Producer
	slow, good *producer.Lane
	dials      atomic.Int32
}

func newCaughtUp(t *testing.T, cc producertest.Config, change func(*config.Config)) *caughtUp {
	u := &caughtUp{c: newCluster(t, cc)}
	last := cc.Topics["t"] - 1
	setting := func(cfg *config.Config) {
		cfg.Linger = 0
		if change != nil {
			change(cfg)
		}
		cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			u.dials.Inc()
			return u.c.Dial(ctx, network, addr)
		}
	}
	p := newProducer(t, u.c, setting)
	slow, good := p.Lane(), p.Lane()
	ofSlow, err := slow.Checkpoint(t.Context())
	ofGood, err2 := good.Checkpoint(t.Context())
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		for q := range last {
			slow.Produce(t.Context(), numberedOn(i, q), nil)
		}
		good.Produce(t.Context(), numberedOn(i, last), nil)
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	end(t, p)
	u.p = newProducer(t, u.c, setting)
	u.slow, err = u.p.Resume(t.Context(), ofSlow)
	u.good, err2 = u.p.Resume(t.Context(), ofGood)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return u
}

// lag keeps the high watermarks of partitions below n where nothing is replicated.
func (u *caughtUp) lag(n int32, broker int32) {
	u.c.OnResponse(func(r *producertest.Response) {
		m, ok := r.Message.(*kmsg.ListOffsetsResponse)
		if !ok || r.Broker != broker {
			return
		}
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				if q := &m.Topics[i].Partitions[j]; q.Partition < n {
					q.Offset = 0
				}
			}
		}
	})
}

// again produces the first records once more, and says when they had an outcome.
func again(t *testing.T, l *producer.Lane, partition int32) (res *producer.Result, took *time.Duration) {
	res, took = new(producer.Result), new(time.Duration)
	began := time.Now()
	for i := range 5 {
		l.Produce(t.Context(), numberedOn(i, partition), func(r producer.Result) { *res, *took = r, time.Since(began) })
	}
	return res, took
}

// Partitions whose followers lag keep no healthy one of the same broker waiting,
// however many there are, and take no connections of their own.
func TestProofsWaitForNobodysReplicas(t *testing.T) {
	for _, stuck := range []int32{5, 100} {
		t.Run(fmt.Sprint(stuck), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newCaughtUp(t, topics(stuck+1), nil)
				u.lag(stuck, 0)
				u.dials.Store(0)
				for q := range stuck {
					again(t, u.slow, q)
				}
				time.Sleep(time.Second)
				res, took := again(t, u.good, stuck)
				if err := u.good.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if res.Outcome != producer.Written || *took > time.Second {
					t.Errorf("the healthy partition after %v: %v %v", *took, res.Outcome, res.Err)
				}
				if n := u.dials.Load(); n > 3 { // for records, for proofs and for metadata
					t.Errorf("%d connections", n)
				}
				u.lag(0, 0)
				if err := u.slow.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := u.slow.Err(); err != nil {
					t.Errorf("those whose followers catch up: %v", err)
				}
			})
		})
	}
}

// A proof that the former leader owes does not hold up what the new one can prove.
func TestProofFollowsTheLeader(t *testing.T) {
	for name, spoil := range map[string]func(*caughtUp){
		"lags": func(u *caughtUp) { u.lag(1, 0) },
		"silent": func(u *caughtUp) {
			u.c.OnResponse(func(r *producertest.Response) {
				_, asked := r.Message.(*kmsg.OffsetForLeaderEpochResponse)
				r.Withhold = asked && r.Broker == 0
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cc := topics(2)
				cc.Brokers = 2
				u := newCaughtUp(t, cc, func(cfg *config.Config) { cfg.MetadataMaxAge = time.Second })
				spoil(u)
				res, took := again(t, u.slow, 0)
				time.Sleep(time.Second)
				if err := u.c.MoveLeader("t", 0, 1); err != nil {
					t.Fatal(err)
				}
				if err := u.slow.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if res.Outcome != producer.Written || *took > 5*time.Second {
					t.Errorf("after %v: %v %v", *took, res.Outcome, res.Err)
				}
			})
		})
	}
}

// Logs that take long to read, or are not shown, keep no other of the same broker
// from being read in time.
func TestReadingsOfLogsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stuck = 3
		c := newCluster(t, topics(stuck+1))
		p := newProducer(t, c, func(cfg *config.Config) { cfg.Linger = 0 })
		for q := range int32(stuck + 1) {
			if _, err := p.ProduceSync(t.Context(), numberedOn(0, q)); err != nil {
				t.Fatal(err)
			}
		}
		c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.FirstTime() {
				return producertest.Fault{}.Omit() // it is there, and nobody knows
			}
			return producertest.Fault{}
		})
		c.OnResponse(func(r *producertest.Response) {
			switch m := r.Message.(type) {
			case *kmsg.FetchResponse:
				r.Withhold = m.Topics[0].Partitions[0].Partition < stuck
			case *kmsg.DescribeProducersResponse:
				for i := range m.Topics {
					for j := range m.Topics[i].Partitions {
						m.Topics[i].Partitions[j].ActiveProducers = nil // forgotten
					}
				}
			}
		})
		for q := range int32(stuck) {
			p.Produce(t.Context(), numberedOn(1, q), nil)
		}
		time.Sleep(time.Second)
		began := time.Now()
		res, err := p.ProduceSync(t.Context(), numberedOn(1, stuck))
		if took := time.Since(began); err != nil || res.Offset != 1 || took > 5*time.Second {
			t.Errorf("after %v: %+v", took, res)
		}
	})
}
