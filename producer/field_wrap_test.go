package producer_test

import (
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
		name   string
		faults map[int32]producertest.Fault
		sent   []int32
	}{
		{"smoothly", nil, []int32{start, 2, 12, 22, 32}},
		{"the straddling one lost", map[int32]producertest.Fault{start: producertest.Cut()}, []int32{start, start, 2, 12, 22, 32}},
		{"the straddling one stored", map[int32]producertest.Fault{start: producertest.Drop()}, []int32{start, start, 2, 12, 22, 32}},
		{
			"the straddling one refused", map[int32]producertest.Fault{start: producertest.Refuse(19)},
			[]int32{start, start, 2, 12, 22, 32},
		},
		{
			"all behind it stored, no answer", map[int32]producertest.Fault{12: producertest.Straggle(now)},
			[]int32{start, 2, 12, 22, 32, 12, 22, 32},
		},
	} {
		for _, window := range []int32{0, 35, 1000} {
			t.Run(test.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cc := topics(2)
					cc.SequenceWindow = window
					s := newTapped(t, cc, nil)
					s.warm(1) // so that topic and producer ID are known
					producer.SkipSequences(s.p, "t", 0, start)
					behind := make(chan struct{}) // until the others stand in line
					time.AfterFunc(time.Second, func() { close(behind) })
					s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
						if f, ok := test.faults[a.BaseSequence]; ok && a.FirstTime() {
							return f
						}
						if a.BaseSequence == 2 && a.FirstTime() {
							return producertest.Hold(behind)
						}
						return producertest.Fault{}
					})
					s.tens(0, 5)
					s.judgeWritten()
					s.wantOffsets(0, 60)
					if window == 0 || window > 50 {
						s.wantSent(0, 0, test.sent...)
					}
				})
			})
		}
	}
}
