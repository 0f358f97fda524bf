package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kgo"
)

// client is what the benchmark needs of a producer.
type client interface {
	produce(ctx context.Context, value []byte)
	flush(ctx context.Context) error
	close()
}

// Both get the same linger, batches and buffer; the rest is their default.
const (
	topic       = "t"
	linger      = 5 * time.Millisecond
	batchBytes  = 128 << 10
	bufferBytes = 64 << 20
)

var peers = []struct {
	name string
	open func(addrs []string) (client, error)
}{
	{"sluice", openSluice},
	{"kgo", openKgo},
}

// BenchmarkPeers produces to an embedded stock broker in the same process, whose
// work is the same for all: ns/op is the time a record takes from Produce to
// its acknowledgement, pipelined.
func BenchmarkPeers(b *testing.B) {
	for _, partitions := range []int32{1, 8} {
		for _, size := range []int{100, 1 << 10} {
			for _, peer := range peers {
				b.Run(fmt.Sprintf("partitions=%d/size=%d/%s", partitions, size, peer.name), func(b *testing.B) {
					run(b, partitions, size, peer.open)
				})
			}
		}
	}
}

func run(b *testing.B, partitions int32, size int, open func([]string) (client, error)) {
	cluster, err := producertest.New(producertest.Config{Topics: map[string]int32{topic: partitions}})
	if err != nil {
		b.Fatal(err)
	}
	defer cluster.Close()
	c, err := open(cluster.Addrs())
	if err != nil {
		b.Fatal(err)
	}
	defer c.close()
	ctx := context.Background()
	value := make([]byte, size)
	c.produce(ctx, value)
	if err := c.flush(ctx); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		c.produce(ctx, value)
	}
	if err := c.flush(ctx); err != nil {
		b.Fatal(err)
	}
}

type sluice struct{ p *producer.Producer }

func openSluice(addrs []string) (client, error) {
	cfg := config.Default()
	cfg.BootstrapServers = addrs
	cfg.Linger, cfg.BatchBytes, cfg.BufferBytes = linger, batchBytes, bufferBytes
	p, err := producer.New(cfg)
	return sluice{p}, err
}

func (s sluice) produce(ctx context.Context, value []byte) {
	s.p.Produce(ctx, producer.Record{Topic: topic, Value: value}, sluiceDone)
}

func sluiceDone(r producer.Result) {
	if r.Err != nil {
		panic(r.Err)
	}
}

func (s sluice) flush(ctx context.Context) error { return s.p.Flush(ctx) }
func (s sluice) close()                          { s.p.Abort() }

type franz struct{ c *kgo.Client }

func openKgo(addrs []string) (client, error) {
	c, err := kgo.NewClient(
		kgo.SeedBrokers(addrs...),
		kgo.ProducerLinger(linger),
		kgo.ProducerBatchMaxBytes(batchBytes),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedBytes(bufferBytes),
		kgo.MaxBufferedRecords(1<<20),
	)
	return franz{c}, err
}

// produce makes a record of its own each time: kgo keeps it until it is written.
func (f franz) produce(ctx context.Context, value []byte) {
	f.c.Produce(ctx, &kgo.Record{Topic: topic, Value: value}, kgoDone)
}

func kgoDone(_ *kgo.Record, err error) {
	if err != nil {
		panic(err)
	}
}

func (f franz) flush(ctx context.Context) error { return f.c.Flush(ctx) }
func (f franz) close()                          { f.c.Close() }
