package e2e

import (
	"sync"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
)

// A million records of mixed sizes, through all codecs, while every connection
// is cut once a second.
func TestStockMillionRecordsWithCuts(t *testing.T) {
	s := open(t, 0)
	codecs := []config.Compression{
		config.CompressionNone, config.CompressionGzip, config.CompressionSnappy, config.CompressionLZ4, config.CompressionZstd,
	}
	var runs []*run
	for _, codec := range codecs {
		runs = append(runs, s.produceTo("cut-"+codec.String(), 4, 1, func(c *config.Config) { c.Compression = codec }))
	}
	stop := s.cutEvery(time.Second)
	var wg sync.WaitGroup
	for _, r := range runs {
		wg.Go(func() { r.produce(200_000, 20, 400, nil) })
	}
	wg.Wait()
	t.Logf("%d connections cut", stop())
	for _, r := range runs {
		r.finish()
	}
}

// Two producers write to the same partitions while connections are cut. Where a
// replay proves records between which the other one wrote, their offsets stay
// unknown; none is wrong.
func TestStockTwoProducersOneTopic(t *testing.T) {
	s := open(t, 0)
	small := func(c *config.Config) { c.BatchBytes = 8 << 10 }
	runs := []*run{s.produceTo("shared", 2, 1, small), s.alsoTo("shared", 1, small)}
	stop := s.cutEvery(300 * time.Millisecond)
	var wg sync.WaitGroup
	for _, r := range runs {
		r.shared = true
		wg.Go(func() { r.produce(200_000, 20, 200, nil) })
	}
	wg.Wait()
	t.Logf("%d connections cut", stop())
	for _, r := range runs { // nobody may write while the log is read
		s.must(r.p.Flush(t.Context()))
	}
	for _, r := range runs {
		r.finish()
	}
}

// All responses are dropped for a while, then the broker is restarted cleanly,
// which shrinks its memory of each producer to the latest batch. Other clients
// double records here: what is refused as out of order they send again under a
// new epoch.
func TestStockResponsesDroppedThenRestart(t *testing.T) { droppedThenRestart(t, 0) }

func droppedThenRestart(t *testing.T, window int32) {
	s := open(t, window)
	r := s.produceTo("dropped", 2, 1, func(c *config.Config) { c.BatchBytes = 4 << 10 })
	const records = 120_000
	r.produce(records, 100, 100, func(i int) {
		switch i {
		case records / 6:
			r.written(1000)
			s.dropResponses(true)
		case records / 2:
			s.until("responses dropped", func() bool { return s.dropped() >= 20 })
			s.restart(0)
		}
	})
	if stats := r.finish(); stats.Resends == 0 {
		t.Error("nothing was in doubt: the fault did not bite")
	}
}

// restart restarts a node cleanly behind its proxy, while responses are dropped,
// and lets responses through again.
func (s *stage) restart(node int) {
	s.t.Helper()
	if err := s.kafka.Stop(node); err != nil {
		s.t.Fatal(err)
	}
	s.cutAll()
	s.dropResponses(false)
	if err := s.kafka.Restart(node); err != nil {
		s.t.Fatal(err)
	}
}
