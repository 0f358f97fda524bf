package wire

import (
	"fmt"
	"testing"
)

// fillRequest puts n batches into an empty request, eight to a topic.
func fillRequest(r *ProduceRequest, names []string, n int, records []byte) {
	r.Reset()
	for i := range n {
		r.Add(names[i/8], [16]byte{byte(i / 8)}, ProducePartition{Index: int32(i % 8), Records: records}, 100<<20)
	}
}

func topicNames(n int) []string {
	names := make([]string, n/8+1)
	for i := range names {
		names[i] = fmt.Sprint("topic-", i)
	}
	return names
}

// BenchmarkProduceRequest is a request filled and encoded, up to the write.
func BenchmarkProduceRequest(b *testing.B) {
	for _, version := range []int16{8, 13} {
		for _, batches := range []int{1, 8, 64, 1000} {
			for _, size := range []int{500, 16 << 10} {
				b.Run(fmt.Sprintf("version=%d/partitions=%d/size=%d", version, batches, size), func(b *testing.B) {
					names, records := topicNames(batches), make([]byte, size)
					r := ProduceRequest{Version: version, ClientID: "sluice"}
					var scratch []byte
					var vec [][]byte
					b.SetBytes(int64(batches * size))
					b.ReportAllocs()
					for b.Loop() {
						fillRequest(&r, names, batches, records)
						scratch, vec = r.AppendTo(scratch[:0], vec[:0])
					}
				})
			}
		}
	}
}
