package producer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
)

// A lane that read the log knows that it holds more than what has been produced
// again. A checkpoint from there is one of the point that it marks, and not of the end
// that was read: the next process has to find in the log what lies between.
func TestCheckpointBehindWhatWasRead(t *testing.T) {
	const written, in = 10, 13
	for _, batch := range []int{1, 170, 16 << 10} { // bytes
		for marked := 1; marked < written; marked++ {
			for _, down := range []time.Duration{0, 72 * time.Hour} {
				t.Run(fmt.Sprintf("batches of %d/after %d/down for %v", batch, marked, down), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						small := func(c *config.Config) { c.BatchBytes = batch }
						c := newCluster(t, topics(1))
						p := newProducer(t, c, small)
						l := p.Lane("t")
						cp := mustCheckpoint(t, l)
						produceAll(t, l, 0, written, dated)
						end(t, p)
						mustForget(t, c, 0)

						p = newProducer(t, c, small)
						l, err := p.Resume(t.Context(), cp)
						if err != nil {
							t.Fatal(err)
						}
						produceAll(t, l, 0, marked, dated)
						cp = mustCheckpoint(t, l)
						end(t, p)
						time.Sleep(down)
						mustForget(t, c, 0)

						l = mustResume(t, c, cp, nil)
						produceAll(t, l, marked, in, dated)
						wantCount(t, c, 0, in)
					})
				})
			}
		}
	}
}
