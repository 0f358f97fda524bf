//go:build !race

package wire

import "testing"

// TestNoAllocation: a request that is used again costs nothing.
func TestNoAllocation(t *testing.T) {
	names := topicNames(40)
	for _, size := range []int{200, 16 << 10} {
		r := ProduceRequest{Version: 13, ClientID: "sluice"}
		records := make([]byte, size)
		var scratch []byte
		var vec [][]byte
		n := testing.AllocsPerRun(100, func() {
			fillRequest(&r, names, 40, records)
			scratch, vec = r.AppendTo(scratch[:0], vec[:0])
		})
		if n != 0 {
			t.Errorf("batches of %d: %v allocations a request", size, n)
		}
	}
}
