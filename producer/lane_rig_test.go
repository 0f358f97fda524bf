package producer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// newProducer makes one for the cluster, which the test ends.
func newProducer(t *testing.T, c *producertest.Cluster, change func(*config.Config)) *producer.Producer {
	t.Helper()
	cfg := config.Default()
	cfg.BootstrapServers, cfg.Dialer, cfg.AllowAutoCreateTopics = c.Addrs(), c.Dial, false
	if change != nil {
		change(&cfg)
	}
	p, err := producer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, p) })
	return p
}

// end is the sudden end of a process.
func end(t *testing.T, p *producer.Producer) {
	t.Helper()
	p.Abort()
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// newCluster makes one that the test closes.
func newCluster(t *testing.T, c producertest.Config) *producertest.Cluster {
	t.Helper()
	cluster, err := producertest.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

// values of the records in a partition, in order.
func values(t *testing.T, c *producertest.Cluster, partition int32) (all []string) {
	t.Helper()
	records, err := c.Records("t", partition)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		all = append(all, string(r.Value))
	}
	return all
}

// wantCount checks that a partition holds 0, 1, ... n-1.
func wantCount(t *testing.T, c *producertest.Cluster, partition int32, n int) {
	t.Helper()
	got := values(t, c, partition)
	for i, v := range got {
		if v != fmt.Sprint(i) {
			t.Fatalf("partition %d: record %d is %s: %v", partition, i, v, got)
		}
	}
	if len(got) != n {
		t.Fatalf("partition %d: %d records, want %d", partition, len(got), n)
	}
}

// numbered is record i of partition 0 of topic t; its value is the number.
func numbered(i int) producer.Record {
	return producer.Record{Topic: "t", Value: []byte(fmt.Sprint(i)), Partition: producer.On(0)}
}

// numberedOn is numbered for another partition.
func numberedOn(i int, partition int32) producer.Record {
	r := numbered(i)
	r.Partition = producer.On(partition)
	return r
}

// kinds are the brokers there are: of stock Kafka, and with the window of KIP-758.
func kinds() map[string]producertest.Config {
	taught := topics(1)
	taught.SequenceWindow = 1000
	return map[string]producertest.Config{"stock": topics(1), "kip-758": taught}
}

// sleepyCodec takes some time for each batch, and finds nothing to save.
type sleepyCodec struct{ d time.Duration }

func (sleepyCodec) ID() int16 { return 1 }

func (s sleepyCodec) Compress(dst, src []byte) ([]byte, error) {
	time.Sleep(s.d)
	return append(dst, src...), nil
}

// callbacks counts the callbacks of records, for tests in real time.
type callbacks struct {
	mu    sync.Mutex
	calls []int
	none  int           // records without a callback
	all   chan struct{} // closed once there are none, made by await
}

// next makes the callback of one more record.
func (c *callbacks) next() func(producer.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := len(c.calls)
	c.calls = append(c.calls, 0)
	c.none++
	return func(producer.Result) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.calls[id]++; c.calls[id] > 1 {
			return
		}
		if c.none--; c.none == 0 && c.all != nil {
			close(c.all)
		}
	}
}

// await waits until each record has had its callback: no more records come. It
// gives up when the test would be killed anyway.
func (c *callbacks) await(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	all := make(chan struct{})
	if c.none == 0 {
		close(all)
	} else {
		c.all = all
	}
	c.mu.Unlock()
	select {
	case <-all:
	case <-time.After(hopeless):
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, n := range c.calls {
		if n != 1 {
			t.Errorf("record %d: %d callbacks", id, n)
		}
	}
}

// hopeless is when a test in real time stops waiting for what will not come.
const hopeless = 2 * time.Minute
