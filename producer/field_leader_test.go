package producer_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// K08: a leader hint that names one broker touches no other one. Their
// connections live on, with what is in flight, and no broker ever has two.
func TestK08HintLeavesOtherBrokersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(6)
		cc.Brokers = 3
		s := newTapped(t, cc, nil)
		s.warm(0, 1, 2, 3, 4, 5)
		release := make(chan struct{})
		s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.Broker != 0 && a.FirstTime() {
				return producertest.Hold(release)
			}
			return producertest.Fault{}
		})
		for p := range int32(6) {
			s.tens(p, 4)
		}
		for p := range int32(6) {
			s.await(p, 1+4)
		}
		s.c.MoveLeader("t", 0, 1) // broker 0 says so in its answer, and names only broker 1
		s.rewriteMetadata(lagging)
		s.tens(0, 4)
		if !s.tap.await(1, func(b sentBatch) bool { return b.partition == 0 && b.addr == s.c.Addrs()[1] }) {
			t.Fatal("the hint was not followed")
		}
		s.tens(2, 2)
		s.await(2, 1+4+2) // pipelined as before, behind what has no answer
		close(release)
		s.judgeWritten()
		s.wantSent(2, 0, 0, 10, 20, 30, 40, 50, 60)
		for _, addr := range s.c.Addrs() {
			if all, atOnce := s.tap.carriers(addr); all != 1 || atOnce != 1 {
				t.Errorf("%s: %d connections, %d at once", addr, all, atOnce)
			}
		}
		if st := s.p.Stats(); st.Connections != 3 {
			t.Errorf("%d connections", st.Connections)
		}
	})
}

// K08: a connection that is made when the partition has moved on is not used.
func TestK08LateDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.Brokers = 3
		dialled := make(chan struct{})
		s := newTapped(t, cc, func(c *config.Config) {
			dial, slow := c.Dialer, c.BootstrapServers[1]
			c.BootstrapServers, c.MetadataMaxAge = c.BootstrapServers[:1], 2*time.Second
			c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr == slow {
					select {
					case <-dialled:
					case <-ctx.Done():
					}
				}
				return dial(ctx, network, addr)
			}
		})
		s.warm(0)
		s.c.MoveLeader("t", 0, 1)
		s.tens(0, 3)
		s.await(0, 2)
		time.Sleep(100 * time.Millisecond)
		s.c.MoveLeader("t", 0, 2)
		s.flush(9 * time.Second)
		close(dialled)
		time.Sleep(time.Second)
		s.tens(0, 3)
		s.judgeWritten()
		if all, _ := s.tap.carriers(s.c.Addrs()[1]); all != 0 {
			t.Errorf("the broker that leads nothing got records")
		}
		if st := s.p.Stats(); st.Connections != 3 {
			t.Errorf("%d connections: the late one was not made", st.Connections)
		}
	})
}

// slowCodec takes a second to find that nothing can be saved.
type slowCodec struct {
	busy, most atomic.Int32
}

func (*slowCodec) ID() int16 { return 1 }

func (c *slowCodec) Compress(dst, src []byte) ([]byte, error) {
	if n := c.busy.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	defer c.busy.Add(-1)
	time.Sleep(time.Second)
	return append(dst, src...), nil
}

// K08: the leader moves while the sender of the old one compresses a batch,
// without a lock. The new one's waits for it, and is told when it is done, also
// if the old connection is gone by then.
func TestK08LeaderMovesDuringCompression(t *testing.T) {
	for _, cut := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cc := topics(1)
			cc.Brokers = 2
			s := newTapped(t, cc, func(c *config.Config) { c.MetadataMaxAge = 100 * time.Millisecond })
			codec := new(slowCodec)
			producer.SetCompressor(s.p, codec)
			s.warm(0)
			begun := time.Now()
			s.tens(0, 1)
			time.Sleep(500 * time.Millisecond) // half of it is done
			s.c.MoveLeader("t", 0, 1)
			if cut {
				s.c.CutConnections(0)
			}
			s.flush(time.Minute)
			if d := time.Since(begun); d > 2*time.Second {
				t.Errorf("took %v", d)
			}
			s.judgeWritten()
			if codec.most.Load() != 1 {
				t.Errorf("%d at once compress batches of one partition", codec.most.Load())
			}
		})
	}
}

// K22: a broker that does not lead the partition any more costs one request,
// not a series of attempts, and not the time until metadata is old.
func TestK22StaleLeader(t *testing.T) {
	for _, test := range []struct {
		name    string
		version int16 // of Produce; leader hints came with 10
	}{{"by hint", 13}, {"by metadata", 9}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cc := topics(1)
				cc.Brokers = 2
				cc.MaxVersions = map[int16]int16{0: test.version}
				s := newTapped(t, cc, nil)
				s.warm(0)
				s.c.MoveLeader("t", 0, 1)
				answers := 0
				s.c.OnResponse(func(r *producertest.Response) {
					switch m := r.Message.(type) {
					case *kmsg.MetadataResponse:
						if test.version >= 10 && len(m.Topics) > 0 {
							lagging(m)
						}
					case *kmsg.ProduceResponse:
						// What the old leader still has to say comes when the
						// new one is known.
						if answers++; r.Broker == 0 && answers > 1 {
							r.Delay = 10 * time.Millisecond
						}
					}
				})
				moved := time.Now()
				s.tens(0, 5)
				s.flush(time.Minute)
				took := time.Since(moved)
				s.judgeWritten()
				// Those that were pipelined behind the first are no attempts more.
				for _, b := range s.tap.batches(func(b sentBatch) bool { return !b.first && b.addr == s.c.Addrs()[0] }) {
					t.Errorf("sent again to the old leader: %v", b)
				}
				if took > 4*10*time.Millisecond+20*time.Millisecond {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// rewriteMetadata lets change edit every metadata answer of the cluster that is
// about topics.
func (s *tapped) rewriteMetadata(change func(*kmsg.MetadataResponse)) {
	s.c.OnResponse(func(r *producertest.Response) {
		if m, ok := r.Message.(*kmsg.MetadataResponse); ok && len(m.Topics) > 0 {
			change(m)
		}
	})
}

// lagging is metadata before the first move of partition 0.
func lagging(m *kmsg.MetadataResponse) {
	m.Topics[0].Partitions[0].Leader, m.Topics[0].Partitions[0].LeaderEpoch = 0, 0
}

// K42: a broker that lags leaves out what is known, once. Nothing fails by one
// view, and sequences do not begin anew.
func TestK42OneStaleView(t *testing.T) {
	for name, stale := range map[string]func(*kmsg.MetadataResponse){
		"partition left out": func(m *kmsg.MetadataResponse) { m.Topics[0].Partitions = m.Topics[0].Partitions[:2] },
		"no partition":       func(m *kmsg.MetadataResponse) { m.Topics[0].Partitions = nil },
		"no topic":           func(m *kmsg.MetadataResponse) { m.Topics = nil },
		"no broker":          func(m *kmsg.MetadataResponse) { m.Brokers = nil },
		"leader not listed":  func(m *kmsg.MetadataResponse) { m.Brokers = m.Brokers[:2] },
		"unknown topic": func(m *kmsg.MetadataResponse) {
			m.Topics[0].ErrorCode, m.Topics[0].Partitions = 3, nil
		},
		"no leader": func(m *kmsg.MetadataResponse) {
			p := &m.Topics[0].Partitions[2]
			p.ErrorCode, p.Leader = 5, -1
		},
		"older epoch": func(m *kmsg.MetadataResponse) {
			p := &m.Topics[0].Partitions[2]
			p.Leader, p.LeaderEpoch = 0, p.LeaderEpoch-1
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cc := topics(3)
				cc.Brokers = 3
				s := newTapped(t, cc, func(c *config.Config) { c.MetadataMaxAge = time.Hour })
				s.c.MoveLeader("t", 2, 2) // so that there is an epoch before the present one
				s.warm(0, 1, 2)
				seen := 0
				s.rewriteMetadata(func(m *kmsg.MetadataResponse) {
					if seen++; seen == 1 {
						stale(m)
					}
				})
				refuse := make(chan struct{})
				s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
					if a.Partition == 2 && a.BaseSequence == 10 && a.FirstTime() {
						return producertest.Refuse(6).Hold(refuse)
					}
					return producertest.Fault{}
				})
				s.tens(2, 3)
				s.await(2, 4)
				asked := time.Now()
				close(refuse) // metadata is asked for, and the answer is stale
				s.tens(0, 1)
				s.flush(time.Minute)
				if d := time.Since(asked); d > time.Second || seen < 1 {
					t.Errorf("took %v and %d answers", d, seen)
				}
				s.judgeWritten()
				s.wantSent(2, 0, 0, 10, 20, 30, 10, 20, 30)
				s.wantOffsets(0, len(s.entries))
			})
		})
	}
}

// K49: records without a key wait while no partition has a leader.
func TestK49NoWritablePartition(t *testing.T) {
	leaderless := func(m *kmsg.MetadataResponse) {
		for i := range m.Topics {
			for j := range m.Topics[i].Partitions {
				p := &m.Topics[i].Partitions[j]
				p.ErrorCode, p.Leader = 5, -1
			}
		}
	}
	for _, known := range []bool{false, true} {
		t.Run(map[bool]string{false: "from the start", true: "after a while"}[known], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTapped(t, topics(3), func(c *config.Config) { c.MetadataMaxAge = 500 * time.Millisecond })
				if known {
					s.warm(0, 1, 2)
				}
				back := time.Now().Add(3 * time.Second)
				s.rewriteMetadata(func(m *kmsg.MetadataResponse) {
					if time.Now().Before(back) {
						leaderless(m)
					}
				})
				time.Sleep(time.Second) // until the producer knows
				for range 30 {
					s.produce(t.Context(), producer.Record{}, recordSize)
				}
				s.flush(time.Minute)
				if late := time.Since(back); late < 0 || late > 2*time.Second {
					t.Errorf("written %v after the leaders came back", late)
				}
				s.judgeWritten()
			})
		})
	}
	t.Run("for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newTapped(t, topics(3), nil)
			s.rewriteMetadata(leaderless)
			begun := time.Now()
			for range 30 {
				s.produce(t.Context(), producer.Record{}, recordSize)
			}
			s.flush(time.Hour)
			if d := time.Since(begun); d < 2*time.Minute || d > 2*time.Minute+time.Second {
				t.Errorf("given up after %v", d)
			}
			if sum := s.judge(); sum.notWritten != 30 {
				t.Errorf("%+v", sum)
			}
			if err := s.result(0).Err; !errors.Is(err, producer.ErrDeliveryTimeout) || !errors.Is(err, producer.Code(5)) {
				t.Errorf("%v", err)
			}
		})
	})
}

// A new leader epoch of the same broker arms the gate again, as another broker
// does: one batch alone, until its success. The broker may have been deposed in
// between, and know less than before.
func TestNewEpochOfTheSameBrokerArmsTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(1), func(c *config.Config) { c.MetadataMaxAge = time.Second })
		s.warm(0)
		s.tens(0, 3)
		s.await(0, 4)
		s.flush(time.Minute)
		if err := s.c.MoveLeader("t", 0, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) // until the producer knows
		hold := make(chan struct{})
		s.c.OnProduce(refuseOnce(40, producertest.Hold(hold)))
		s.tens(0, 3)
		synctest.Wait()
		s.wantSent(0, 0, 0, 10, 20, 30, 40)
		close(hold)
		s.flush(time.Minute)
		s.wantSent(0, 0, 0, 10, 20, 30, 40, 50, 60)
		s.judgeWritten()
	})
}
