//go:build !race

package compress_test

import "testing"

// TestNoAllocation: the encoders are pooled. (The race detector makes a pool
// forget.)
func TestNoAllocation(t *testing.T) {
	src, dst := orders(16<<10), make([]byte, 0, 64<<10)
	for _, c := range codecs {
		n := testing.AllocsPerRun(200, func() {
			if _, err := c.Compress(dst, src); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%v: %v allocations a batch", c, n)
		}
	}
}
