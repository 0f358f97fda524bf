package producer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// A request that takes longer to go out than the broker may take to answer is no
// reason to hang up, nor is an answer that takes longer to come, as long as bytes move.
func TestBytesThatMoveAreNoSilence(t *testing.T) {
	for name, c := range map[string]struct {
		up, down float64
		records  int
		size     int
		within   time.Duration
	}{
		"one large record":          {100e3, 0, 1, 500_000, 6 * time.Second},
		"many that fill a line":     {100e3, 0, 40, 50_000, 22 * time.Second},
		"a line of 25 kB/s":         {25e3, 0, 1, 900_000, 37 * time.Second},
		"answers that trickle":      {0, 4, 1, 100, 20 * time.Second},
		"thin lines both ways":      {50e3, 4, 3, 300_000, 70 * time.Second},
		"a line with room to spare": {0, 0, 10, 500_000, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster, l := newCluster(t, topics(1)), new(slowLines)
				p := newProducer(t, cluster, func(cfg *config.Config) {
					cfg.RequestTimeout, cfg.Dialer = 3*time.Second, l.dial(cluster.Dial)
				})
				if _, err := p.ProduceSync(t.Context(), producer.Record{Topic: "t"}); err != nil {
					t.Fatal(err)
				}
				l.set(c.up, c.down)
				if _, err := p.ProduceSync(t.Context(), producer.Record{Topic: "t"}); err != nil { // a read was under way
					t.Fatal(err)
				}
				before, began := p.Stats(), time.Now()
				for range c.records {
					p.Produce(t.Context(), producer.Record{Topic: "t", Value: make([]byte, c.size)}, func(r producer.Result) {
						if r.Err != nil {
							t.Error(r.Err)
						}
					})
				}
				if err := p.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				took := time.Since(began)
				t.Logf("%v, %d connections", took, p.Stats().Connections-before.Connections)
				if took > c.within || p.Stats().Connections != before.Connections {
					t.Errorf("it took %v and %d more connections", took, p.Stats().Connections-before.Connections)
				}
			})
		})
	}
}

// A write that does not go on, and a broker that does not answer once all is out, are
// noticed within the request timeout, whatever went well before.
func TestStandstillIsNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		after int
		due   time.Duration // the request timeout behind the last byte
	}{
		"before the first byte": {0, 3 * time.Second},
		"half way in a write":   {250_000, 5500 * time.Millisecond},
		"all is out":            {1 << 20, 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster, l := newCluster(t, topics(1)), &slowLines{up: 100e3}
				p := newProducer(t, cluster, func(cfg *config.Config) {
					cfg.RequestTimeout, cfg.Dialer = 3*time.Second, l.dial(cluster.Dial)
				})
				if _, err := p.ProduceSync(t.Context(), producer.Record{Topic: "t"}); err != nil {
					t.Fatal(err)
				}
				release := make(chan struct{})
				defer close(release)
				cluster.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(release) })
				l.stick(c.after)
				began := time.Now()
				p.Produce(t.Context(), producer.Record{Topic: "t", Value: make([]byte, 500_000)}, nil)
				time.Sleep(time.Minute)
				given := l.givenUp()
				if given.IsZero() {
					t.Fatal("it was not noticed")
				}
				if took := given.Sub(began); took < c.due-time.Second || took > c.due+time.Second {
					t.Errorf("noticed after %v, want %v", took, c.due)
				}
			})
		})
	}
}
