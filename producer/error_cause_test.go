package producer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}

// noProducerID makes the brokers refuse InitProducerId.
func noProducerID(code int16) func(*producertest.Cluster) {
	return func(c *producertest.Cluster) {
		c.OnResponse(func(r *producertest.Response) {
			if m, ok := r.Message.(*kmsg.InitProducerIDResponse); ok {
				m.ErrorCode = code
			}
		})
	}
}

// cause is something that lets no record through, and the words by which it is told.
type cause struct {
	name    string
	cluster func(*producertest.Config)
	spoil   func(*producertest.Cluster)
	records int // 0 is 1
	words   string
	is      error
	denied  bool // the records end before their time, with this for a reason
}

var causes = []cause{
	{name: "no producer ID: loading", spoil: noProducerID(14), words: "no producer id", is: producer.Code(14)},
	{name: "no producer ID: timeout", spoil: noProducerID(7), words: "no producer id", is: producer.Code(7)},
	{name: "no producer ID: no coordinator", spoil: noProducerID(15), words: "no producer id", is: producer.Code(15)},
	{name: "no producer ID: not authorised", spoil: noProducerID(53), words: "no producer id", is: producer.Code(53)},
	{
		name:    "InitProducerId is not offered",
		cluster: func(c *producertest.Config) { c.MaxVersions = map[int16]int16{22: -1} },
		words:   "InitProducerID: the broker offers no version",
		denied:  true,
	},
	{
		name: "a head that is refused",
		spoil: func(c *producertest.Cluster) {
			c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Refuse(19) })
		},
		records: 3000, words: "NOT_ENOUGH_REPLICAS", is: producer.Code(19),
	},
	{
		name: "a head without an answer",
		spoil: func(c *producertest.Cluster) {
			c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Cut() })
		},
		records: 300, words: "conn: ",
	},
	{
		name: "throttled all the time",
		spoil: func(c *producertest.Cluster) {
			c.OnResponse(func(r *producertest.Response) {
				if r.Request.Key() == 0 {
					r.Throttle = time.Hour
				}
			})
		},
		records: 300, words: "throttles this client",
	},
	{
		name: "no leader",
		spoil: func(c *producertest.Cluster) {
			c.OnResponse(func(r *producertest.Response) {
				if m, ok := r.Message.(*kmsg.MetadataResponse); ok {
					for i := range m.Topics {
						for j := range m.Topics[i].Partitions {
							m.Topics[i].Partitions[j].Leader, m.Topics[i].Partitions[j].ErrorCode = -1, 5
						}
					}
				}
			})
		},
		words: "LEADER_NOT_AVAILABLE", is: producer.Code(5),
	},
	{
		name: "a silent broker",
		spoil: func(c *producertest.Cluster) {
			c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(nil) })
		},
		records: 300, words: "request timeout", is: producer.ErrRequestTimeout,
	},
}

// Whatever keeps records from being written, the error of each of them names it:
// when their time is over, and when Close runs out of time.
func TestEveryErrorNamesItsCause(t *testing.T) {
	for _, tc := range causes {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tc.run(t, producer.ErrDeliveryTimeout) })
		})
		t.Run(tc.name+", closed", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { tc.run(t, producer.ErrClosed) })
		})
	}
}

func (tc *cause) run(t *testing.T, verdict error) {
	cc := topics(1)
	if tc.cluster != nil {
		tc.cluster(&cc)
	}
	spoil := tc.spoil
	if spoil == nil {
		spoil = func(*producertest.Cluster) {}
	}
	r := newSpoiltRig(t, cc, spoil, func(c *config.Config) {
		c.BatchBytes = 1
		c.RequestTimeout, c.DeliveryTimeout = 10*time.Second, time.Minute
	})
	for range max(1, tc.records) {
		r.produce(t.Context(), producer.Record{}, 10)
	}
	if verdict == producer.ErrClosed {
		ctx, cancel := contextFor(t, 30*time.Second)
		defer cancel()
		if err := r.p.Close(ctx); !errors.Is(err, context.DeadlineExceeded) && !tc.denied {
			t.Fatal(err)
		}
	} else {
		r.flush(5 * time.Minute)
	}
	for n := range max(1, tc.records) {
		res := r.result(n)
		if res.Outcome == producer.Written && n == 0 {
			continue // the answer came, and the silence with it
		}
		wantLine(t, res.Err, tc.words)
		if !errors.Is(res.Err, verdict) && !tc.denied || tc.is != nil && !errors.Is(res.Err, tc.is) {
			t.Errorf("record %d: %v", n, res.Err)
		}
		if t.Failed() {
			return
		}
	}
}
