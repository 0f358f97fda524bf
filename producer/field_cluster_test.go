package producer_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rebuilt is a rig whose cluster can be replaced by another one at its addresses.
type rebuilt struct {
	*rig
	other *producertest.Cluster
	now   atomic.Bool // the other one is there
}

// newRebuilt names the other cluster by id, and not at all if that is empty.
func newRebuilt(t *testing.T, cc producertest.Config, id string, change func(*config.Config)) *rebuilt {
	r := new(rebuilt)
	var err error
	if r.other, err = producertest.New(cc); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.other.Close)
	r.other.OnResponse(func(resp *producertest.Response) {
		if m, ok := resp.Message.(*kmsg.MetadataResponse); ok {
			m.ClusterID = nil
			if id != "" {
				m.ClusterID = &id
			}
		}
	})
	r.rig = newRig(t, cc, func(c *config.Config) {
		dial := c.Dialer
		c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if r.now.Load() {
				return r.other.Dial(ctx, network, addr)
			}
			return dial(ctx, network, addr)
		}
		if change != nil {
			change(c)
		}
	})
	return r
}

func (r *rebuilt) rebuild() {
	r.now.Store(true)
	r.breakAll()
}

func (r *rebuilt) breakAll() {
	for id := range r.c.Addrs() {
		r.c.Stop(int32(id))
		r.c.Start(int32(id))
	}
}

// inOther counts the records in the other cluster.
func (r *rebuilt) inOther() (n int) {
	for p := int32(0); ; p++ {
		if _, _, err := r.other.Leader("t", p); err != nil {
			return n
		}
		recs, err := r.other.Records("t", p)
		if err != nil {
			r.t.Fatal(err)
		}
		n += len(recs)
	}
}

// The cluster is built anew at its addresses: no record goes there, each one is told
// why soon, with what to do. By name as by topic ID, and in a lane.
func TestClusterIsRebuilt(t *testing.T) {
	for name, version := range map[string]int16{"by topic id": 13, "by name": 12} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cc := topics(2)
				cc.Brokers, cc.MaxVersions = 2, map[int16]int16{0: version}
				r := newRebuilt(t, cc, "another", nil)
				lane := r.p.Lane("t")
				if _, err := lane.ProduceSync(t.Context(), producer.Record{Topic: "t", Key: []byte("k")}); err != nil {
					t.Fatal(err)
				}
				if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
					t.Fatal(err)
				}
				r.rebuild()
				time.Sleep(time.Minute)
				begun := time.Now()
				res, err := r.p.ProduceSync(t.Context(), producer.Record{Topic: "t", Value: []byte("x")})
				if !errors.Is(err, producer.ErrOtherCluster) || res.Outcome != producer.NotWritten ||
					!strings.Contains(err.Error(), "metadata.cluster.check.enable=false") || !strings.Contains(err.Error(), `"another"`) {
					t.Errorf("%v: %v", res.Outcome, err)
				}
				if d := time.Since(begun); d > 6*time.Second {
					t.Errorf("took %v", d)
				}
				if res, err := lane.ProduceSync(t.Context(), producer.Record{Topic: "t", Key: []byte("k")}); !errors.Is(err, producer.ErrOtherCluster) || res.Outcome != producer.Unknown || lane.Err() == nil {
					t.Errorf("lane: %v: %v, %v", res.Outcome, err, lane.Err())
				}
				if err := r.p.Ping(r.within(time.Minute)); !errors.Is(err, producer.ErrOtherCluster) {
					t.Errorf("ping: %v", err)
				}
				if n := r.inOther(); n != 0 {
					t.Errorf("%d records are in the other cluster", n)
				}
				// The former one is back: it was an address that was wrong.
				r.now.Store(false)
				time.Sleep(10 * time.Second)
				if res, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
					t.Errorf("%+v", res)
				}
			})
		})
	}
}

// One address alone belongs to another cluster, that of a leader: its records do not
// go there, and the others go on.
func TestOneAddressIsOfAnotherCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(2)
		cc.Brokers = 2
		var lies atomic.Bool
		var r *rebuilt
		r = newRebuilt(t, cc, "another", func(c *config.Config) {
			dial, liar := c.Dialer, c.BootstrapServers[1]
			c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr == liar && lies.Load() {
					return r.other.Dial(ctx, network, addr)
				}
				return dial(ctx, network, addr)
			}
		})
		for at := range int32(2) {
			if _, err := r.sync(t.Context(), producer.Record{Partition: producer.On(at)}, 10); err != nil {
				t.Fatal(err)
			}
		}
		lies.Store(true)
		r.breakAll()
		if res, err := r.sync(t.Context(), producer.Record{Partition: producer.On(0)}, 10); err != nil {
			t.Errorf("%+v", res)
		}
		if res, err := r.sync(t.Context(), producer.Record{Partition: producer.On(1)}, 10); !errors.Is(err, producer.ErrOtherCluster) {
			t.Errorf("%+v", res)
		}
		if err := r.c.MoveLeader("t", 1, 0); err != nil {
			t.Fatal(err)
		}
		if res, err := r.sync(t.Context(), producer.Record{Partition: producer.On(1)}, 10); err != nil {
			t.Errorf("after the move: %+v", res)
		}
		if n := r.inOther(); n != 0 {
			t.Errorf("%d records are in the other cluster", n)
		}
		r.judge()
	})
}

// Brokers that name no cluster pass: nothing can be compared.
func TestBrokersThatNameNoCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRebuilt(t, topics(1), "", nil)
		if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
			t.Fatal(err)
		}
		r.rebuild()
		if res, err := r.p.ProduceSync(t.Context(), producer.Record{Topic: "t", Value: []byte("x")}); err != nil {
			t.Errorf("%+v", res)
		}
	})
}

// The user lets the producer go on in the other cluster: with a producer ID of that
// one, from sequence 0, also where records were in doubt. Lanes stop.
func TestGoesOnInAnotherCluster(t *testing.T) {
	for _, inDoubt := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cc := topics(2)
			cc.Brokers = 2
			r := newRebuilt(t, cc, "another", func(c *config.Config) { c.CheckCluster = false })
			lane := r.p.Lane("t")
			if _, err := lane.ProduceSync(t.Context(), producer.Record{Topic: "t", Key: []byte("k")}); err != nil {
				t.Fatal(err)
			}
			for at := range int32(2) {
				if _, err := r.sync(t.Context(), producer.Record{Partition: producer.On(at)}, 10); err != nil {
					t.Fatal(err)
				}
			}
			if inDoubt {
				r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(nil) })
				r.produce(t.Context(), producer.Record{Partition: producer.On(0)}, 10)
				time.Sleep(time.Second)
			}
			r.rebuild()
			for range 3 { // while the connections to the former one break a record may be meant for that
				r.produce(t.Context(), producer.Record{Partition: producer.On(0)}, 10)
			}
			r.flush(time.Minute)
			time.Sleep(time.Second)
			for at := range int32(2) {
				for range 5 {
					if res, err := r.p.ProduceSync(t.Context(), producer.Record{Topic: "t", Partition: producer.On(at), Value: []byte("00000000 ")}); err != nil {
						t.Errorf("%+v", res)
					}
				}
			}
			if lane.Err() == nil || !errors.Is(lane.Err(), producer.ErrOtherCluster) {
				t.Errorf("lane: %v", lane.Err())
			}
			for _, v := range r.other.Violations() {
				t.Errorf("violation: %s", v)
			}
			if n := r.inOther(); n < 10 {
				t.Errorf("%d records are in the other cluster", n)
			}
			if res := r.result(2); inDoubt && res.Outcome != producer.Unknown {
				t.Errorf("in doubt: %+v", res)
			}
		})
	}
}

// The bootstrap server leads to another cluster while the connections for records are
// still those to the former one: they end, and no record goes there any more.
func TestGoesOnWhileTheFormerClusterLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRebuilt(t, topics(1), "another", func(c *config.Config) { c.CheckCluster = false })
		if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
			t.Fatal(err)
		}
		r.now.Store(true)
		r.c.OnResponse(func(resp *producertest.Response) {
			if _, ok := resp.Message.(*kmsg.MetadataResponse); ok {
				resp.CutAfter = 0 // the connection of the control loop breaks, no other
			}
		})
		if err := r.p.Ping(r.within(time.Minute)); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if res, err := r.p.ProduceSync(t.Context(), producer.Record{Topic: "t", Value: []byte("00000000 ")}); err != nil {
				t.Errorf("%+v", res)
			}
		}
		if n := r.inOther(); n != 5 {
			t.Errorf("%d records are in the other cluster", n)
		}
		if recs, err := r.c.Records("t", 0); err != nil || len(recs) != 1 {
			t.Errorf("%d records are in the former one: %v", len(recs), err)
		}
	})
}
