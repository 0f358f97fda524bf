package producer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// K46: a batch of ten that begins eight sequences before the end of the space
// goes over it, and the next one begins at 2. Whatever happens to them on the
// way: replays, distances and the window know the wrap, too.
func TestK46SequenceWrap(t *testing.T) {
	const start = 2147483640
	now := make(chan struct{})
	close(now)
	for _, test := range []struct {
		name  string
		at    int32
		fault producertest.Fault
		again []int32
	}{
		{"smoothly", 0, producertest.Fault{}, nil},
		{"the straddling one lost", start, producertest.Cut(), []int32{start, 2, 12, 22}},
		{"the straddling one stored", start, producertest.Drop(), []int32{start, 2, 12, 22}},
		{"the straddling one refused", start, producertest.Refuse(19), []int32{start, 2, 12, 22}},
		{"from it on stored, no answer", start, producertest.Straggle(now), []int32{start, 2, 12, 22}},
		{"all behind it stored, no answer", 2, producertest.Straggle(now), []int32{2, 12, 22}},
	} {
		for _, window := range []int32{0, 35, 1000} {
			t.Run(fmt.Sprintf("%s, W=%d", test.name, window), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cc := silent() // else the replay would begin further on
					cc.Topics["t"], cc.SequenceWindow = 2, window
					s := newTapped(t, cc, nil)
					s.warm(1) // so that topic and producer ID are known
					producer.SkipSequences(s.p, "t", 0, start-20)
					s.warm(0)
					stand := make(chan struct{}) // until the others stand in line
					s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
						switch {
						case !a.FirstTime():
							return producertest.Fault{}
						case a.BaseSequence == start-10:
							return producertest.Hold(stand)
						case a.BaseSequence == test.at:
							return test.fault
						}
						return producertest.Fault{}
					})
					s.tens(0, 5)
					time.Sleep(time.Second)
					if window == 35 {
						s.wantSent(0, 0, start-20, start-10, start, 2)
					}
					close(stand)
					s.judgeWritten()
					s.wantOffsets(0, 70)
					if window != 35 {
						sent := []int32{start - 20, start - 10, start, 2, 12, 22}
						s.wantSent(0, 0, append(sent, test.again...)...)
					}
				})
			})
		}
	}
}
