package main

import (
	"errors"
	"flag"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/internal/faultproxy"
	"github.com/sluice-kafka/sluice/internal/realkafka"
)

var (
	realKills  = flag.Int("real.kills", 4, "kills of the pipeline before a real Kafka of each kind")
	realPauses = flag.Int("real.pauses", 1, "how many of them are pauses at first")
	realNodes  = flag.Int("real.nodekills", 0, "kills of nodes of three at least; 0: no such test, it takes 40 s")
)

func newRealStage(t *testing.T, kafka *realkafka.Cluster, args ...string) *stage {
	t.Helper()
	return newTestStage(t, append([]string{"-chaos", "-brokers", strings.Join(kafka.Addrs(), ",")}, args...)...)
}

func killArgs(kills int) []string {
	return []string{"-kills", strconv.Itoa(kills), "-every", "20ms"}
}

// chaosArgs is killArgs with pauses among the kills.
func chaosArgs(kills int) []string {
	pauses := 0
	if canPause {
		pauses = min(*realPauses, kills)
	}
	return append(killArgs(kills), "-pauses", strconv.Itoa(pauses))
}

// The brokers look all the time whom to forget: nobody whose records are younger than
// a day, but event time at once. So there is no pause with that: two processes must
// not write old records at once while brokers forget.
func TestChaosOnRealKafka(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]int32{"stock": 0, "KIP-758": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kafka := realkafka.Start(t, realkafka.Config{SequenceWindow: window, Properties: map[string]string{
				"producer.id.expiration.check.interval.ms": "100",
			}})
			for mode, args := range map[string][]string{
				"plain":      chaosArgs(*realKills),
				"event time": append(killArgs(*realKills), "-event-time"),
				"growing":    append(chaosArgs(*realKills), "-grow"),
			} {
				t.Run(mode, func(t *testing.T) {
					t.Parallel()
					newRealStage(t, kafka, args...).mustSurvive(t)
				})
			}
		})
	}
}

// The brokers die as well, and connections are cut.
func TestChaosOnThreeNodes(t *testing.T) {
	if *realNodes == 0 {
		t.Skip("without -real.nodekills")
	}
	cluster := newUnsteady(t)
	s := newRealStage(t, cluster.kafka, chaosArgs(*realKills)...)
	stop := cluster.trouble(t)
	s.mustSurvive(t)
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// unsteady is a cluster of three nodes behind proxies.
type unsteady struct {
	kafka   *realkafka.Cluster
	proxies []*faultproxy.Proxy
}

func newUnsteady(t *testing.T) *unsteady {
	t.Helper()
	u := &unsteady{}
	u.kafka = realkafka.Start(t, realkafka.Config{
		Nodes: 3,
		Properties: map[string]string{
			"min.insync.replicas": "2", "broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500",
		},
		Advertise: func(_ int, addr string) string {
			p, err := faultproxy.Listen(addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() })
			u.proxies = append(u.proxies, p)
			return p.Addr()
		},
	})
	return u
}

// trouble kills one node after another, and cuts connections between that and
// meanwhile, until stop is called; at least so many nodes are killed.
func (u *unsteady) trouble(t *testing.T) (stop func() error) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	var err error
	kills, cuts := 0, 0
	wg.Go(func() {
		for tick := time.NewTicker(300 * time.Millisecond); ; {
			select {
			case <-tick.C:
				cuts += u.proxies[rand.IntN(len(u.proxies))].CutAll()
			case <-over:
				return
			}
		}
	})
	wg.Go(func() {
		for ; err == nil; kills++ {
			select {
			case <-over:
				if kills >= *realNodes {
					return
				}
			default:
			}
			node := rand.IntN(len(u.proxies))
			err = u.kafka.Kill(node)
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Millisecond) // dead meanwhile
			err = errors.Join(err, u.kafka.Restart(node))
		}
	})
	return func() error {
		close(over)
		wg.Wait()
		t.Logf("%d nodes killed, %d connections cut", kills, cuts)
		return err
	}
}
