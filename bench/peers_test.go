package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/bench/peer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// All get the same linger, batches and buffer; the rest is their default.
const (
	topic       = "t"
	linger      = 5 * time.Millisecond
	batchBytes  = 128 << 10
	bufferBytes = 64 << 20
)

// BenchmarkPeers produces to an embedded stock broker in the same process, whose
// work is the same for all: ns/op is the time a record takes from Produce to
// its acknowledgement, pipelined. The names suit benchstat -col /peer.
func BenchmarkPeers(b *testing.B) {
	peers, err := peer.FindAll("sluice,kgo")
	if err != nil {
		b.Fatal(err)
	}
	for _, partitions := range []int32{1, 8} {
		for _, size := range []int{100, 1 << 10} {
			for _, p := range peers {
				b.Run(fmt.Sprintf("partitions=%d/size=%d/peer=%s", partitions, size, p.Name), func(b *testing.B) {
					run(b, partitions, size, p.Open)
				})
			}
		}
	}
}

func run(b *testing.B, partitions int32, size int, open func(peer.Config) (peer.Client, error)) {
	cluster, err := producertest.New(producertest.Config{Topics: map[string]int32{topic: partitions}})
	if err != nil {
		b.Fatal(err)
	}
	defer cluster.Close()
	c, err := open(peer.Config{
		Addrs: cluster.Addrs(), Topic: topic, Codec: "none",
		Linger: linger, BatchBytes: batchBytes, BufferBytes: bufferBytes, ValueBytes: size, Done: done,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	value := make([]byte, size)
	c.Produce(ctx, value, 0, nil)
	if err := c.Flush(ctx); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		c.Produce(ctx, value, 0, nil)
	}
	if err := c.Flush(ctx); err != nil {
		b.Fatal(err)
	}
}

func done(_ *int64, err error) {
	if err != nil {
		panic(err)
	}
}
