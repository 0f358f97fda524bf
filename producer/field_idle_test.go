package producer_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// traffic counts what a producer asks of the network.
type traffic struct {
	mu       sync.Mutex
	dials    int
	requests map[int16]int // by API key, those that are answered
}

func newTraffic(t *testing.T, cc producertest.Config, change func(*config.Config)) (*rig, *traffic) {
	t.Helper()
	n := &traffic{requests: map[int16]int{}}
	r := newRig(t, cc, func(c *config.Config) {
		if change != nil {
			change(c)
		}
		dial := c.Dialer
		c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			n.mu.Lock()
			n.dials++
			n.mu.Unlock()
			return dial(ctx, network, addr)
		}
	})
	n.listen(r, nil)
	return r, n
}

// listen counts responses before change sees them.
func (n *traffic) listen(r *rig, change func(*producertest.Response)) {
	r.c.OnResponse(func(resp *producertest.Response) {
		n.mu.Lock()
		n.requests[resp.Request.Key()]++
		n.mu.Unlock()
		if change != nil {
			change(resp)
		}
	})
}

// over says what comes in such a time.
func (n *traffic) over(d time.Duration) (dials int, requests map[int16]int) {
	synctest.Wait()
	n.mu.Lock()
	n.dials, n.requests = 0, map[int16]int{}
	n.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials, maps.Clone(n.requests)
}

const (
	produceAPI        = 0
	metadataAPI       = 3
	initProducerIDAPI = 22
)

// K70: after records were written, and after one ran out of time, nothing goes
// on but the refresh of metadata. Once a topic is forgotten there is another
// producer ID, for what comes later.
func TestK70IdleIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, n := newTraffic(t, topics(3), func(c *config.Config) {
			c.RequestTimeout, c.DeliveryTimeout = time.Second, 5*time.Second
		})
		for range 100 {
			r.produce(t.Context(), producer.Record{}, 100)
		}
		r.flush(time.Minute)
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Refuse(19) })
		if res, err := r.sync(t.Context(), producer.Record{}, 10); !errors.Is(err, producer.ErrDeliveryTimeout) {
			t.Fatalf("%+v", res)
		}
		time.Sleep(time.Minute)
		dials, requests := n.over(time.Hour)
		if dials > 0 || requests[metadataAPI] < 11 || requests[metadataAPI] > 13 || requests[initProducerIDAPI] != 1 || len(requests) > 2 {
			t.Errorf("in an idle hour: %d dials, requests %v", dials, requests)
		}
		r.c.OnProduce(nil)
		if res, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
			t.Errorf("after it: %+v", res)
		}
		r.judge()
	})
}

// K70: whatever does not come right is tried again at the pace of its backoff,
// not of the machine. Each fault lasts for three minutes, with records waiting.
func TestK70NoStorm(t *testing.T) {
	const lasts = 3 * time.Minute
	leaderless := func(resp *producertest.Response) {
		if m, ok := resp.Message.(*kmsg.MetadataResponse); ok {
			for i := range m.Topics {
				for j := range m.Topics[i].Partitions {
					m.Topics[i].Partitions[j].Leader = -1
				}
			}
		}
	}
	for name, c := range map[string]struct {
		topic string
		spoil func(r *rig, n *traffic)
		most  map[int16]int // requests meanwhile; other APIs: none
	}{
		"broker down":      {"t", func(r *rig, _ *traffic) { r.c.Stop(0) }, nil},
		"hangs up at once": {"t", func(r *rig, n *traffic) { n.listen(r, func(resp *producertest.Response) { resp.CutAfter = 0 }) }, map[int16]int{18: 1500}},
		"no leader":        {"t", func(r *rig, n *traffic) { n.listen(r, leaderless); r.c.MoveLeader("t", 0, 0); r.c.CutConnections(0) }, map[int16]int{metadataAPI: 300, 18: 400}},
		"refused, retriable": {"t", func(r *rig, _ *traffic) {
			r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Refuse(19) })
		}, map[int16]int{produceAPI: 300, metadataAPI: 300}},
		"not the leader": {"t", func(r *rig, _ *traffic) {
			r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Refuse(6) })
		}, map[int16]int{produceAPI: 300, metadataAPI: 600}},
		"answers get lost": {"t", func(r *rig, _ *traffic) {
			r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Drop() })
		}, map[int16]int{produceAPI: 300, metadataAPI: 600, 18: 400, 61: 300}},
		"topic unknown": {"u", func(*rig, *traffic) {}, map[int16]int{metadataAPI: 300}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, n := newTraffic(t, topics(1), func(c *config.Config) { c.DeliveryTimeout = 2 * lasts })
				r.sync(t.Context(), producer.Record{}, 10)
				c.spoil(r, n)
				r.produce(t.Context(), producer.Record{Topic: c.topic}, 10)
				time.Sleep(time.Second)
				dials, requests := n.over(lasts)
				if dials > 1500 {
					t.Errorf("%d dials", dials)
				}
				for key, count := range requests {
					if count > c.most[key] {
						t.Errorf("API %d: %d requests", key, count)
					}
				}
				r.c.Start(0)
				r.c.OnProduce(nil)
				r.c.OnResponse(nil)
				r.judge()
			})
		})
	}
}

// K70: the same for the producer ID, when nobody waits for it yet.
func TestK70NoRightIsNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, n := newTraffic(t, topics(1), nil)
		n.listen(r, func(resp *producertest.Response) {
			if m, ok := resp.Message.(*kmsg.InitProducerIDResponse); ok {
				m.ErrorCode, m.ProducerID = 31, -1
			}
		})
		dials, requests := n.over(3 * time.Minute)
		if dials > 250 || requests[initProducerIDAPI] > 250 || requests[metadataAPI] > 250 {
			t.Errorf("%d dials, requests %v", dials, requests)
		}
	})
}
