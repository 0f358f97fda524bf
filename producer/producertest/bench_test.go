package producertest

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// BenchmarkKgoProduce says what a record costs through the cluster, with the
// client's part.
func BenchmarkKgoProduce(b *testing.B) {
	for _, memory := range []bool{false, true} {
		name := "sockets"
		if memory {
			name = "memory"
		}
		b.Run(name, func(b *testing.B) {
			c := start(b, Config{Topics: map[string]int32{"t": 4}, InMemory: memory})
			k := newKgo(b, c, kgo.MaxBufferedRecords(100_000))
			defer k.Close()
			value := make([]byte, 100)
			b.ResetTimer()
			for range b.N {
				k.Produce(b.Context(), &kgo.Record{Topic: "t", Value: value}, nil)
			}
			if err := k.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
