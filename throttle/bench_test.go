package throttle

import (
	"fmt"
	"testing"
)

// BenchmarkWindow is what a batch costs its window when nothing goes wrong:
// admitted, looked at, committed, and settled while depth-1 others are behind
// it.
func BenchmarkWindow(b *testing.B) {
	for _, depth := range []uint64{1, 5, 500} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			w := New()
			w.SetProducer(1, 0)
			w.Bind(Limits{})
			una := uint64(0)
			offset := int64(0)
			settle := func() {
				if r := w.Settle(una, Success, offset); r.Written.Len() != 1 {
					b.Fatalf("%+v", r)
				}
				una++
				offset += benchRecords
			}
			send := func() {
				w.Admit(benchRecords)
				if _, hold := w.Peek(); hold != Ready {
					b.Fatal(hold)
				}
				w.Commit()
			}
			send()
			settle() // the gate is open
			for range depth - 1 {
				send()
			}
			b.ReportAllocs()
			for b.Loop() {
				send()
				settle()
			}
		})
	}
}

const benchRecords = 1200 // of 100 bytes, in a batch of 128 KiB
