package producer_test

import (
	"context"
	"encoding/binary"
	"log/slog"
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

// A producer ID that is none is not used, whatever the code says: the broker is
// asked again, and the records wait for one that is.
func TestProducerIDThatIsNone(t *testing.T) {
	for name, spoil := range map[string]func(*kmsg.InitProducerIDResponse){
		"no id":           func(m *kmsg.InitProducerIDResponse) { m.ProducerID = -1 },
		"a negative id":   func(m *kmsg.InitProducerIDResponse) { m.ProducerID = -1 << 63 },
		"no epoch":        func(m *kmsg.InitProducerIDResponse) { m.ProducerEpoch = -1 },
		"the least epoch": func(m *kmsg.InitProducerIDResponse) { m.ProducerEpoch = -1 << 15 },
		"neither":         func(m *kmsg.InitProducerIDResponse) { m.ProducerID, m.ProducerEpoch = -1, -1 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int64
				r := newSpoiltRig(t, topics(1), onInitProducerID(&asked, func(n int, _ *producertest.Response, m *kmsg.InitProducerIDResponse) {
					if n < 3 {
						spoil(m)
					}
				}), nil)
				begun := time.Now()
				if res, err := r.sync(t.Context(), producer.Record{}, 10); err != nil || time.Since(begun) > 3*time.Second {
					t.Errorf("%+v after %v", res, time.Since(begun))
				}
				if n := asked.Load(); n != 4 {
					t.Errorf("asked %d times", n)
				}
				r.judge()
			})
		})
	}
}

// The window that comes with the producer ID counts, also on the connection to a
// bootstrap server: by its address it is a broker that metadata names, and where it
// is a name of nobody's it may be any of them.
func TestWindowWithTheProducerID(t *testing.T) {
	for name, seed := range map[string]string{"a broker's address": "", "a name of nobody's": "seed:1"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int64
				window := func(m *kmsg.InitProducerIDResponse) { m.UnknownTags.Set(758, binary.BigEndian.AppendUint32(nil, 30)) }
				cc := topics(2)
				cc.Brokers = 2
				r := newSpoiltRig(t, cc, onInitProducerID(&asked, func(n int, _ *producertest.Response, m *kmsg.InitProducerIDResponse) {
					window(m)
				}), func(c *config.Config) {
					dial, good := c.Dialer, c.BootstrapServers[0]
					if c.BootstrapServers = c.BootstrapServers[:1]; seed != "" {
						c.BootstrapServers[0] = seed
					}
					c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
						if addr == seed {
							addr = good
						}
						return dial(ctx, network, addr)
					}
				})
				for at := range int32(2) {
					if _, err := r.sync(t.Context(), producer.Record{Partition: producer.On(at)}, 10); err != nil {
						t.Fatal(err)
					}
				}
				for range 200 {
					r.produce(t.Context(), producer.Record{Partition: producer.On(0)}, 10)
				}
				r.flush(time.Minute)
				for _, p := range r.p.Stats().Partitions {
					want := int32(30)
					if p.Partition == 1 && seed == "" {
						want = 10_000_000 // the other broker named none
					}
					if p.Window != want || p.Deepest > want {
						t.Errorf("partition %d: window %d, %d were in flight", p.Partition, p.Window, p.Deepest)
					}
				}
				r.judge()
			})
		})
	}
}

// A window that is named when a connection is there already is the smaller of the
// two all the same: a lane's ID comes later than the producer's.
func TestWindowWithALaterProducerID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		r := newSpoiltRig(t, topics(1), onInitProducerID(&asked, func(n int, _ *producertest.Response, m *kmsg.InitProducerIDResponse) {
			if n > 0 {
				m.UnknownTags.Set(758, binary.BigEndian.AppendUint32(nil, 30))
			}
		}), nil)
		if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
			t.Fatal(err)
		}
		lane := r.p.Lane("t")
		for range 200 {
			n, rec := r.enter(producer.Record{Key: []byte("k")}, 10)
			lane.Produce(t.Context(), rec, func(res producer.Result) { r.note(n, res) })
		}
		r.flush(time.Minute)
		for _, p := range r.p.Stats().Partitions {
			if p.Window > 30 && p.Deepest > 1 {
				t.Errorf("%+v", p)
			}
		}
		r.judge()
	})
}

// counting counts dials, and lines that are logged.
type counting struct {
	dials, lines atomic.Int64
}

func (c *counting) Enabled(context.Context, slog.Level) bool  { return true }
func (c *counting) Handle(context.Context, slog.Record) error { c.lines.Add(1); return nil }
func (c *counting) WithAttrs([]slog.Attr) slog.Handler        { return c }
func (c *counting) WithGroup(string) slog.Handler             { return c }
func (c *counting) into(cfg *config.Config) {
	dial := cfg.Dialer
	cfg.Logger = slog.New(c)
	cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c.dials.Add(1)
		return dial(ctx, network, addr)
	}
}

// A broker that answers and hangs up, again and again, and one that refuses each
// connection: it is dialled at the pace of its backoff, and the log is not flooded.
func TestNoStormOfConnections(t *testing.T) {
	for name, spoil := range map[string]func(*producertest.Cluster){
		"answers once and hangs up": func(c *producertest.Cluster) {
			answered := map[int64]bool{}
			c.OnResponse(func(r *producertest.Response) {
				if _, ok := r.Message.(*kmsg.ProduceResponse); ok {
					if answered[r.Connection] {
						r.CutAfter = 0
					}
					answered[r.Connection] = true
				}
			})
		},
		"hangs up on each record": func(c *producertest.Cluster) {
			c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Drop() })
		},
		"hangs up on the check": func(c *producertest.Cluster) {
			c.OnResponse(func(r *producertest.Response) {
				if q, ok := r.Request.(*kmsg.MetadataRequest); ok && r.Connection > 1 && len(q.Topics) == 0 {
					r.CutAfter = 0
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n counting
				r := newSpoiltRig(t, topics(50), spoil, n.into)
				for at := range int32(50) {
					r.produce(t.Context(), producer.Record{Partition: producer.On(at)}, 10)
				}
				time.Sleep(10 * time.Second)
				n.dials.Store(0)
				n.lines.Store(0)
				for i := range 6000 {
					r.produce(t.Context(), producer.Record{Partition: producer.On(int32(i % 50))}, 10)
					time.Sleep(10 * time.Millisecond)
				}
				t.Logf("in a minute: %d dials, %d lines", n.dials.Load(), n.lines.Load())
				most := int64(4 * 90)
				if name == "hangs up on the check" { // the same reason again and again
					most = 5
				}
				if n.dials.Load() > 2*90 || n.lines.Load() > most {
					t.Errorf("in a minute: %d dials, %d lines", n.dials.Load(), n.lines.Load())
				}
			})
		})
	}
}
