package producer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// K43, KAFKA-13834: more partitions on a broker than fit one request. Each has
// its turn, the last as well as the first.
func TestK43EachPartitionHasItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const partitions, each = 50, 20
		r := newRig(t, topics(partitions), func(c *config.Config) {
			c.Linger, c.BatchBytes, c.MaxRequestBytes = 0, 1000, 10_000
			c.MaxInFlightBytes = 20_000
		})
		for p := range partitions { // each is past its gate
			if _, err := r.sync(t.Context(), producer.Record{Partition: producer.On(int32(p))}, 10); err != nil {
				t.Fatal(err)
			}
		}
		var got [partitions]int
		r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			got[a.Partition]++
			for p, n := range got {
				if n+2 < got[a.Partition] {
					t.Errorf("partition %d had %d turns, partition %d %d", a.Partition, got[a.Partition], p, n)
				}
			}
			return producertest.Fault{}
		})
		hold := make(chan struct{})
		r.c.OnResponse(func(*producertest.Response) { <-hold })
		for range each {
			for p := range partitions {
				r.produce(t.Context(), producer.Record{Partition: producer.On(int32(p))}, 900)
			}
		}
		synctest.Wait()
		got = [partitions]int{}
		close(hold)
		r.flush(time.Minute)
		r.judge()
	})
}

// I23: one of two brokers answers nothing. Its records take what they may of
// the memory, and those for the other one go on.
func TestSilentBrokerLeavesRoomForTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(2)
		cc.Brokers = 2
		r := newRig(t, cc, func(c *config.Config) { c.Linger, c.BatchBytes, c.BufferBytes = 0, 1000, 20_000 })
		for p := range int32(2) {
			if _, err := r.sync(t.Context(), producer.Record{Partition: producer.On(p)}, 10); err != nil {
				t.Fatal(err)
			}
		}
		hold := make(chan struct{})
		r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.Broker == 0 {
				return producertest.Hold(hold)
			}
			return producertest.Fault{}
		})
		full := false
		for range 100 {
			err := r.try(producer.Record{Partition: producer.On(0)}, 500)
			full = full || errors.Is(err, producer.ErrBufferFull)
		}
		if !full {
			t.Fatal("the silent broker's records fill nothing")
		}
		for range 100 {
			if _, err := r.sync(t.Context(), producer.Record{Partition: producer.On(1)}, 500); err != nil {
				t.Fatalf("the other broker: %v", err)
			}
		}
		close(hold)
		r.flush(time.Minute)
		r.judge()
	})
}
