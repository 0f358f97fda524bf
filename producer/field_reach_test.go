package producer_test

import (
	"context"
	"fmt"
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

// movedRig is a cluster whose brokers get other addresses at some moment; the former
// ones swallow every packet then. The bootstrap server leads to a broker at any time.
type movedRig struct {
	*rig
	moved atomic.Bool
	dials atomic.Int64 // since then
}

func newMovedRig(t *testing.T, brokers int, seeds ...string) *movedRig {
	m := new(movedRig)
	cc := topics(int32(brokers))
	cc.Brokers = brokers
	m.rig = newRig(t, cc, func(c *config.Config) {
		dial, good := c.Dialer, c.BootstrapServers[0]
		c.BootstrapServers = append(seeds, "seed:1")
		c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			real, isNew := strings.CutPrefix(addr, "new-")
			if m.moved.Load() {
				m.dials.Add(1)
			}
			switch {
			case addr == "seed:1":
				real = good
			case m.moved.Load() && !isNew, strings.HasPrefix(addr, "dead"):
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return dial(ctx, network, real)
		}
	})
	m.c.OnResponse(func(r *producertest.Response) {
		if answer, ok := r.Message.(*kmsg.MetadataResponse); ok && m.moved.Load() {
			for i := range answer.Brokers {
				answer.Brokers[i].Host = "new-" + answer.Brokers[i].Host
			}
		}
	})
	return m
}

// move gives all brokers new addresses and breaks all connections.
func (m *movedRig) move(brokers int) {
	m.moved.Store(true)
	for id := range int32(brokers) {
		m.c.Stop(id)
		m.c.Start(id)
	}
}

// KIP-899: all brokers that were known are gone, however many, and their addresses
// swallow packets. The bootstrap servers are tried among the first.
func TestAllKnownAddressesAreDead(t *testing.T) {
	for _, brokers := range []int{1, 3, 6, 12, 40} {
		for _, seeds := range [][]string{nil, {"dead-1:1", "dead-2:1"}} {
			t.Run(fmt.Sprint(brokers, len(seeds)), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := newMovedRig(t, brokers, seeds...)
					if _, err := m.sync(t.Context(), producer.Record{}, 10); err != nil {
						t.Fatal(err)
					}
					m.move(brokers)
					begun := time.Now()
					if res, err := m.sync(t.Context(), producer.Record{}, 10); err != nil {
						t.Errorf("%+v", res)
					}
					if took := time.Since(begun); took > 20*time.Second {
						t.Errorf("took %v", took)
					}
					t.Logf("%d brokers, %d dead seeds: written after %v, %d dials", brokers, len(seeds), time.Since(begun), m.dials.Load())
					m.judge()
				})
			})
		}
	}
}
