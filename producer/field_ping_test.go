package producer_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Ping with a topic says whether a record could be sent: its leaders are reached, and
// we may write. Where the cluster answers and the leader cannot be reached it goes on
// until its context ends, and says why.
func TestPingTopics(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*producertest.Cluster)
		dial  func() error
		topic string
		want  string // "": it is there
		soon  bool
	}{
		"all is well":  {topic: "t"},
		"no topic":     {topic: "typo", want: "UNKNOWN_TOPIC_OR_PARTITION"},
		"no such name": {topic: "t", want: "no such host", dial: func() error { return errors.New("no such host") }},
		"no right to write": {
			topic: "t", want: "WRITE", soon: true,
			spoil: onEach(func(m *kmsg.MetadataResponse) {
				for i := range m.Topics {
					m.Topics[i].AuthorizedOperations = 1<<3 | 1<<8 // READ and DESCRIBE
				}
			}),
		},
		"the right to write": {
			topic: "t",
			spoil: onEach(func(m *kmsg.MetadataResponse) {
				for i := range m.Topics {
					m.Topics[i].AuthorizedOperations = 1<<4 | 1<<8
				}
			}),
		},
		"no leader": {
			topic: "t", want: "LEADER_NOT_AVAILABLE",
			spoil: onEach(func(m *kmsg.MetadataResponse) {
				for i := range m.Topics {
					m.Topics[i].Partitions[1].Leader, m.Topics[i].Partitions[1].ErrorCode = -1, 5
				}
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cc := topics(2)
				cc.Brokers = 2
				spoil := test.spoil
				if spoil == nil {
					spoil = func(*producertest.Cluster) {}
				}
				r := newSpoiltRig(t, cc, spoil, func(c *config.Config) {
					dial, good := c.Dialer, c.BootstrapServers[0]
					c.BootstrapServers = []string{"seed:1"}
					c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
						switch {
						case addr == "seed:1":
							addr = good
						case test.dial != nil:
							return nil, test.dial()
						}
						return dial(ctx, network, addr)
					}
				})
				if err := r.p.Ping(r.within(time.Minute)); err != nil {
					t.Fatalf("without a topic: %v", err)
				}
				begun := time.Now()
				err := r.p.Ping(r.within(10*time.Second), test.topic)
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("%v", err)
				}
				if soon := time.Since(begun) < time.Second; soon != (test.soon || test.want == "") {
					t.Errorf("%v after %v", err, time.Since(begun))
				}
			})
		})
	}
}

// Stats do not call a partition available whose leader cannot be reached, and say
// why not.
func TestStatsOfALeaderThatIsNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) {
			dial, good := c.Dialer, c.BootstrapServers[0]
			c.BootstrapServers = []string{"seed:1"}
			c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr != "seed:1" {
					return nil, errors.New("no such host")
				}
				return dial(ctx, network, good)
			}
		})
		r.produce(t.Context(), producer.Record{}, 10)
		time.Sleep(5 * time.Second)
		s := r.p.Stats()
		if s.Partitions[0].Available || s.Brokers[0].Connected || !strings.Contains(s.Brokers[0].Err, "no such host") {
			t.Errorf("%+v", s)
		}
	})
}
