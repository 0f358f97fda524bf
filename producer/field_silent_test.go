package producer_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/testcert"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// deaf is a connection to a peer that takes everything and says nothing.
func deaf() net.Conn {
	near, far := net.Pipe()
	go func() {
		io.Copy(io.Discard, far)
		far.Close()
	}()
	return near
}

// k19 is a cluster whose broker 0 is silent at some stage, and leads nothing: it
// withholds the answer to requests with the key, if that is not negative.
func k19(t *testing.T, cc producertest.Config, key int16, change func(*config.Config)) *tapped {
	cc.InMemory, cc.Brokers, cc.Topics = true, 2, map[string]int32{"t": 1}
	return newSpoiltTapped(t, cc, func(c *producertest.Cluster) {
		c.MoveLeader("t", 0, 1)
		withhold(c, 0, key)
	}, func(c *config.Config) {
		c.DialTimeout, c.RequestTimeout, c.DeliveryTimeout = 2*time.Second, 3*time.Second, 12*time.Second
		if change != nil {
			change(c)
		}
	})
}

// withhold drops what a broker answers to a request.
func withhold(c *producertest.Cluster, broker int32, key int16) {
	c.OnResponse(func(r *producertest.Response) {
		r.Withhold = r.Broker == broker && r.Request.Key() == key
	})
}

// K19: the first bootstrap server accepts, reads, and never answers, at each
// stage that comes before the first record. It is left, and the other one
// serves.
func TestK19SilentBeforeTheFirstRecord(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) *tapped{
		"dial": func(t *testing.T) *tapped {
			return k19(t, producertest.Config{}, -1, func(c *config.Config) {
				c.Dialer = instead(c, func(ctx context.Context) (net.Conn, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				})
			})
		},
		"api versions": func(t *testing.T) *tapped {
			return k19(t, producertest.Config{}, -1, func(c *config.Config) {
				c.Dialer = instead(c, func(context.Context) (net.Conn, error) { return deaf(), nil })
			})
		},
		"tls hello": func(t *testing.T) *tapped {
			cert := testcert.New(t).TLS
			cc := producertest.Config{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}
			return k19(t, cc, -1, func(c *config.Config) {
				c.SecurityProtocol = config.ProtocolSSL
				c.TLS = &tls.Config{InsecureSkipVerify: true}
				c.Dialer = instead(c, func(context.Context) (net.Conn, error) { return deaf(), nil })
			})
		},
		"sasl handshake":    func(t *testing.T) *tapped { return saslSilent(t, 17) },
		"sasl authenticate": func(t *testing.T) *tapped { return saslSilent(t, 36) },
		"metadata":          func(t *testing.T) *tapped { return k19(t, producertest.Config{}, 3, nil) },
		"producer id":       func(t *testing.T) *tapped { return k19(t, producertest.Config{}, 22, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t)
				begun := time.Now()
				s.tens(0, 3)
				s.flush(time.Minute)
				// A silent set-up is overtaken; a connection that is set up gets the
				// time of a request.
				least, most := time.Duration(0), time.Second
				if name == "metadata" || name == "producer id" {
					least, most = 3*time.Second, 4*time.Second
				}
				if d := time.Since(begun); d < least || d > most {
					t.Errorf("took %v", d)
				}
				s.judgeWritten()
			})
		})
	}
}

// instead replaces the connections to the first bootstrap server.
func instead(c *config.Config, dial func(context.Context) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	usual, silent := c.Dialer, c.BootstrapServers[0]
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == silent {
			return dial(ctx)
		}
		return usual(ctx, network, addr)
	}
}

func saslSilent(t *testing.T, key int16) *tapped {
	return k19(t, producertest.Config{Users: map[string]string{"u": "p"}}, key, func(c *config.Config) {
		c.SecurityProtocol, c.SASLMechanism = config.ProtocolSASLPlaintext, config.MechanismSCRAMSHA256
		c.SASLUsername, c.SASLPassword = "u", config.NewSecret("p")
	})
}

// K19, Produce: a leader that is silent once costs a request timeout.
func TestK19SilentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(1), nil)
		s.warm(0)
		begun := time.Now()
		s.c.OnProduce(refuseOnce(10, producertest.Hold(nil)))
		s.tens(0, 3)
		s.flush(time.Minute)
		if d := time.Since(begun); d < 30*time.Second || d > 31*time.Second {
			t.Errorf("took %v", d)
		}
		s.judgeWritten()
		s.wantSent(0, 0, 0, 10, 20, 30, 10, 20, 30)
	})
}

// K19, Produce: a leader that is silent for ever holds up nobody else, and its
// records have an outcome in time: unknown if they were sent, and else not
// written.
func TestK19SilentForEver(t *testing.T) {
	const apiVersions = 18
	for _, test := range []struct {
		name    string
		silence func(s *tapped)
		outcome producer.Outcome
	}{
		{"produce", func(s *tapped) {
			s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
				if a.Partition == 0 {
					return producertest.Hold(nil)
				}
				return producertest.Fault{}
			})
		}, producer.Unknown},
		{"before", func(s *tapped) {
			withhold(s.c, 0, apiVersions)
			s.c.CutConnections(0)
		}, producer.NotWritten},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cc := topics(2)
				cc.Brokers = 2
				s := newTapped(t, cc, nil)
				s.warm(0, 1)
				test.silence(s)
				time.Sleep(time.Minute)
				begun := time.Now()
				stuck := s.tens(0, 3)
				fine := s.tens(1, 3)
				time.Sleep(time.Second)
				s.wantOutcomes(fine, 30, producer.Written, nil)
				s.flush(time.Hour)
				// Delivery timeout, the request that is under way then, and a tick.
				if d := time.Since(begun); d < 120*time.Second || d > 150*time.Second+200*time.Millisecond {
					t.Errorf("took %v", d)
				}
				s.judge()
				s.wantOutcomes(stuck, 30, test.outcome, producer.ErrDeliveryTimeout)
			})
		})
	}
}
