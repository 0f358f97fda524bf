package producer_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// Any number of lanes share the connections of a producer, and a flush sees to
// all of them. It runs only where the environment says with how many lanes
// (LANES) and partitions (PARTS).
func TestManyLanesFlush(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("LANES"))
	parts, _ := strconv.Atoi(os.Getenv("PARTS"))
	if n == 0 {
		t.Skip()
	}
	c := newCluster(t, producertest.Config{InMemory: true, Topics: map[string]int32{"t": int32(parts)}})
	p := newProducer(t, c, nil)
	if _, err := p.ProduceSync(t.Context(), numbered(0)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var lanes []*producer.Lane
	for i := range n {
		l := p.Lane()
		lanes = append(lanes, l)
		l.Produce(t.Context(), producer.Record{Topic: "t", Partition: producer.On(int32(i % parts)), Value: []byte(fmt.Sprint(i))}, nil)
	}
	t.Logf("produced %v", time.Since(began))
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if err := p.Flush(ctx); err != nil {
		st := p.Stats()
		t.Logf("stats: written %d buffered %d requests %d brokers %+v", st.Written, st.BufferedBytes, st.Requests, st.Brokers)
		k := 0
		for i, l := range lanes {
			if s := producer.LaneState(l); strings.Contains(s, "sealed 1") || strings.Contains(s, "open true") || strings.Contains(s, "waiting 1") || s == "" {
				if k++; k < 4 {
					t.Logf("lane %d: %s", i, s)
				}
			}
		}
		t.Logf("%d lanes stuck", k)
		t.Log(producer.ControlState(p))
		t.Fatal(err)
	}
	t.Logf("flushed %v", time.Since(began))
	began = time.Now()
	for range 10 {
		for i, l := range lanes {
			l.Produce(t.Context(), producer.Record{Topic: "t", Partition: producer.On(int32(i % parts)), Value: []byte(fmt.Sprint(i))}, nil)
		}
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("10 each %v", time.Since(began))
}
