package bufpool

import (
	"fmt"
	"testing"
)

// BenchmarkLoan is a buffer lent and taken back, of each size that batches have:
// it should cost the same for all.
func BenchmarkLoan(b *testing.B) {
	for _, size := range []int{512, 16 << 10, 128 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Put(Get(size))
			}
		})
	}
}
