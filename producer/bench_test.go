package producer_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

func benchProducer(tb testing.TB, partitions int32, set func(*config.Config)) *producer.Producer {
	tb.Helper()
	c, err := producertest.New(producertest.Config{Topics: map[string]int32{"t": partitions}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	cfg := config.Default()
	cfg.BootstrapServers = c.Addrs()
	if set != nil {
		set(&cfg)
	}
	p, err := producer.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Abort)
	return p
}

// BenchmarkProduce is the whole way of a record, to the embedded broker in the
// same process and back: its work is in the figures, too.
func BenchmarkProduce(b *testing.B) {
	for _, bc := range []struct {
		name string
		size int
	}{{"100B", 100}, {"1KiB", 1 << 10}} {
		b.Run(bc.name, func(b *testing.B) {
			p := benchProducer(b, 8, nil)
			value := make([]byte, bc.size)
			ctx := context.Background()
			b.SetBytes(int64(bc.size))
			b.ReportAllocs()
			for b.Loop() {
				p.Produce(ctx, producer.Record{Topic: "t", Value: value}, nil)
			}
			if err := p.Flush(ctx); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// Nothing is allocated for a record in the steady state. What is left belongs
// to batches, requests, and the embedded broker.
func TestNoAllocationsPerRecord(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	p := benchProducer(t, 4, nil)
	value := make([]byte, 100)
	ctx := t.Context()
	produce := func(n int) {
		for range n {
			p.Produce(ctx, producer.Record{Topic: "t", Value: value}, nil)
		}
		if err := p.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	const records = 200_000
	produce(records) // pools fill
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	produce(records)
	runtime.ReadMemStats(&after)
	perRecord := float64(after.Mallocs-before.Mallocs) / records
	t.Logf("%.4f allocations a record, broker included", perRecord)
	if perRecord > 0.2 {
		t.Errorf("%.4f allocations a record", perRecord)
	}
}
