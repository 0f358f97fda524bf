package producer_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The log was read to its end, and before the leader could be asked again the
// process was cut off. Meanwhile another owner wrote records with old timestamps,
// which brokers forgot. The log is read again.
func TestAnOldReadingSettlesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane("t")
		produceAll(t, l, 0, 5, dated)
		cp := mustCheckpoint(t, l)
		end(t, p)
		mustForget(t, c, 0)
		var mu sync.Mutex
		var conns []net.Conn
		off := false
		slow := mustResume(t, c, cp, func(cfg *config.Config) {
			cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				if off {
					return nil, errors.New("cut off")
				}
				n, err := c.Dial(ctx, network, addr)
				conns = append(conns, n)
				return n, err
			}
		})
		asked := 0
		c.OnResponse(func(r *producertest.Response) {
			switch r.Message.(type) {
			case *kmsg.FetchResponse:
				asked = 1
			case *kmsg.DescribeProducersResponse:
				if asked++; asked == 2 { // the first question behind the reading is cut off
					mu.Lock()
					defer mu.Unlock()
					off = true
					for _, n := range conns {
						n.Close()
					}
				}
			}
		})
		slow.Produce(t.Context(), dated(5), nil)
		time.Sleep(5 * time.Second)
		c.OnResponse(nil)
		mu.Lock()
		if !off {
			t.Error("not cut off")
		}
		mu.Unlock()
		quick := mustResume(t, c, cp, nil)
		produceAll(t, quick, 5, 10, dated)
		time.Sleep(30 * time.Second)
		mustForget(t, c, 0)
		mu.Lock()
		off = false
		mu.Unlock()
		for i := 6; i < 13; i++ {
			slow.Produce(t.Context(), dated(i), nil)
		}
		if err := errors.Join(slow.Flush(t.Context()), slow.Err()); err != nil {
			t.Fatal(err)
		}
		wantCount(t, c, 0, 13)
	})
}
