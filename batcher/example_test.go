package batcher_test

import (
	"fmt"

	"github.com/sluice-kafka/sluice/batcher"
)

// A batch is filled up to a limit, sealed, and stamped before it is first
// written. What is kept with each record comes back in the same order.
func ExampleBatch() {
	const limit = 100
	var b batcher.Batch[string]
	b.Reset(make([]byte, 0, limit))
	for i := range 10 {
		r := batcher.Record{Value: fmt.Appendf(nil, "value %d", i), Timestamp: 1_790_000_000_000}
		if !b.Fits(&r, limit) {
			break
		}
		b.Append(&r, fmt.Sprint("callback ", i))
	}
	b.Seal(nil, nil)
	b.Stamp(4000, 0, 0) // producer id, epoch, sequence of the first record
	fmt.Println(b.Records(), "records in", len(b.Encoded()), "bytes")
	fmt.Println(b.Deliveries())
	// Output:
	// 2 records in 89 bytes
	// [callback 0 callback 1]
}
