package producertest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func newKgo(t testing.TB, c *Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(c.Addrs()...), kgo.Dialer(c.Dial),
		kgo.FetchMaxWait(100 * time.Millisecond), kgo.ProducerLinger(0),
	}, opts...)
	k, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// kgoProduce produces n records to a topic and waits for all.
func kgoProduce(t testing.TB, k *kgo.Client, topic string, n int) {
	t.Helper()
	for i := range n {
		r := &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "v%d", i)}
		k.Produce(context.Background(), r, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce: %v", err)
			}
		})
	}
	if err := k.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// kgoConsume reads n records of a topic and says how often each value came.
func kgoConsume(t testing.TB, k *kgo.Client, n int) map[string]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	seen := make(map[string]int, n)
	next := map[int32]int64{}
	for got := 0; got < n; {
		fs := k.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatalf("after %d records: %v", got, err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			want(t, "offset", r.Offset, next[r.Partition])
			next[r.Partition] = r.Offset + 1
			seen[string(r.Value)]++
			got++
		})
	}
	return seen
}

func TestKgoProducesAndConsumes(t *testing.T) {
	for name, cfg := range map[string]Config{
		"sockets":   {Brokers: 3, Topics: map[string]int32{"t": 6}},
		"memory":    {Brokers: 3, Topics: map[string]int32{"t": 6}, InMemory: true},
		"kip-758":   {Topics: map[string]int32{"t": 2}, SequenceWindow: 1 << 20},
		"auto":      {Brokers: 2, AutoCreateTopics: 3},
		"old names": {Topics: map[string]int32{"t": 1}, MaxVersions: map[int16]int16{0: 8, 1: 12, 3: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, cfg)
			p := newKgo(t, c, kgo.AllowAutoTopicCreation())
			defer p.Close()
			const n = 5000
			kgoProduce(t, p, "t", n)
			k := newKgo(t, c, kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
			defer k.Close()
			seen := kgoConsume(t, k, n)
			want(t, "distinct records", len(seen), n)
			for _, v := range c.Violations() {
				t.Error(v)
			}
		})
	}
}
