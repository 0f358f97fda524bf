package producer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
)

// A burst lets a partition look at the clock now and then only. When single
// records follow it into the same open batch, their timestamps must be their
// own and not those of the burst.
func TestTimestampsAfterABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, func(c *config.Config) { c.Linger = time.Minute })
		if _, err := p.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Fatal(err)
		}
		for i := range 130 {
			p.Produce(t.Context(), numbered(i), nil)
		}
		var worst time.Duration
		for i := range 60 {
			time.Sleep(900 * time.Millisecond)
			at := time.Now()
			p.Produce(t.Context(), numbered(i), func(r producer.Result) { worst = max(worst, at.Sub(r.Timestamp)) })
		}
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if worst > time.Second {
			t.Errorf("a record's timestamp is %v before Produce", worst)
		}
	})
}
