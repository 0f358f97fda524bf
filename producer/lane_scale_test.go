package producer_test

import (
	"fmt"
	"testing"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// Any number of lanes share the connections of a producer, also where all write
// to one partition, and each gets its records through in order.
func TestManyLanes(t *testing.T) {
	const lanes, rounds = 500, 4
	for _, partitions := range []int32{1, 16} {
		t.Run(fmt.Sprintf("partitions=%d", partitions), func(t *testing.T) {
			c := newCluster(t, producertest.Config{InMemory: true, Topics: map[string]int32{"t": partitions}})
			p := newProducer(t, c, nil)
			next := make([]int, lanes) // of which the callback is due
			handOut(t, p, lanes, partitions, rounds, func(lane, round int, r producer.Result) {
				if r.Err != nil || next[lane] != round {
					t.Errorf("lane %d, record %d where %d was due: %v", lane, round, next[lane], r.Err)
				}
				next[lane]++
			})
			for lane, n := range next {
				if n != rounds {
					t.Errorf("lane %d: %d of %d records have an outcome", lane, n, rounds)
				}
			}
		})
	}
}

// BenchmarkLanes is the time of a record in each of many lanes, the first of
// which makes a lane's producer ID and asks for its state.
func BenchmarkLanes(b *testing.B) {
	for _, lanes := range []int{100, 1000, 4000} {
		for _, partitions := range []int32{1, 16} {
			b.Run(fmt.Sprintf("lanes=%d/partitions=%d", lanes, partitions), func(b *testing.B) {
				for b.Loop() {
					handOut(b, benchProducer(b, partitions, nil), lanes, partitions, 2, nil)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(2*lanes), "us/record")
			})
		}
	}
}

// handOut produces a record in each lane, so many times, and flushes each time.
func handOut(tb testing.TB, p *producer.Producer, lanes int, partitions int32, rounds int, done func(lane, round int, r producer.Result)) {
	tb.Helper()
	all := make([]*producer.Lane, lanes)
	for i := range all {
		all[i] = p.Lane()
	}
	for round := range rounds {
		for i, l := range all {
			var told func(producer.Result)
			if done != nil {
				told = func(r producer.Result) { done(i, round, r) }
			}
			l.Produce(tb.Context(), producer.Record{Topic: "t", Partition: producer.On(int32(i) % partitions), Value: []byte("value")}, told)
		}
		if err := p.Flush(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
}
