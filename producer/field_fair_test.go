package producer_test

import (
	"errors"
	"github.com/twmb/franz-go/pkg/kmsg"
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

// besideSilent is a rig of two brokers that lead a partition each; broker 0
// answers nothing until it may speak. Who waits for room does so for ten seconds.
func besideSilent(t *testing.T, batch int, buffer int64) (r *rig, speak func()) {
	t.Helper()
	cc := topics(2)
	cc.Brokers = 2
	r = newRig(t, cc, func(c *config.Config) {
		c.Linger, c.BatchBytes, c.BufferBytes, c.MaxBlock = 0, batch, buffer, 10*time.Second
	})
	for p := range int32(2) {
		if _, err := r.sync(t.Context(), producer.Record{Partition: producer.On(p)}, 10); err != nil {
			t.Fatal(err)
		}
	}
	silence := make(chan struct{})
	r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
		if a.Broker == 0 {
			return producertest.Hold(silence)
		}
		return producertest.Fault{}
	})
	return r, func() { close(silence) }
}

// I23: one of two brokers answers nothing. Its records take what they may of
// the memory, and those for the other one go on.
func TestSilentBrokerLeavesRoomForTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, speak := besideSilent(t, 1000, 20_000)
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
		speak()
		r.flush(time.Minute)
		r.judge()
	})
}

// K13: of two brokers one answers nothing and has all of the buffer that it may
// have. Records without a key do not wait for it.
func TestK13KeylessRecordsAvoidAFullShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, speak := besideSilent(t, 16<<10, 256<<10)
		r.unordered = true
		began := time.Now()
		blocked := 0
		for range 20000 {
			at := time.Now()
			r.produce(t.Context(), producer.Record{}, 100)
			if time.Since(at) > time.Second {
				blocked++
			}
			if time.Since(began) > 25*time.Second {
				break
			}
			time.Sleep(100 * time.Microsecond)
		}
		if blocked > 1 || r.count() < 20000 {
			t.Errorf("%d calls blocked for long, %d records in %v", blocked, r.count(), time.Since(began))
		}
		speak()
		r.flush(time.Minute)
		r.judge()
	})
}

// K13: nor is one refused for its sake.
func TestK13TryAvoidsAFullShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, speak := besideSilent(t, 16<<10, 256<<10)
		r.unordered = true
		row, worst := 0, 0
		for range 20000 {
			if err := r.try(producer.Record{}, 100); errors.Is(err, producer.ErrBufferFull) {
				row++
				worst = max(worst, row)
			} else {
				row = 0
			}
			time.Sleep(100 * time.Microsecond)
		}
		if worst > 1 {
			t.Errorf("%d records in a row were refused", worst)
		}
		speak()
		r.flush(time.Minute)
		r.judge()
	})
}

// K49: the partition that gets the records without a key loses its leader. Records
// that come now and then go to another one, long before a batch of bytes went there.
func TestK49TheChosenPartitionLosesItsLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(2)
		cc.Brokers = 2
		r := newRig(t, cc, func(c *config.Config) { c.Linger = 0 })
		res, err := r.sync(t.Context(), producer.Record{}, 10) // the run's
		if err != nil {
			t.Fatal(err)
		}
		leaderless := true
		r.c.OnResponse(func(resp *producertest.Response) {
			if m, ok := resp.Message.(*kmsg.MetadataResponse); ok && leaderless {
				for i := range m.Topics {
					for j := range m.Topics[i].Partitions {
						if p := &m.Topics[i].Partitions[j]; p.Partition == res.Partition {
							p.Leader, p.ErrorCode = -1, 5
						}
					}
				}
			}
		})
		_ = r.c.Stop(res.Partition % 2)
		r.produce(t.Context(), producer.Record{}, 10) // finds out
		time.Sleep(10 * time.Second)
		stuck := 0
		for range 600 {
			r.produce(t.Context(), producer.Record{}, 10)
			time.Sleep(time.Second)
		}
		for n := range r.count() {
			if rs := r.results(n); n > 2 && (len(rs) == 0 || rs[0].Outcome != producer.Written) {
				stuck++
			}
		}
		if other, err := r.sync(r.within(time.Second), producer.Record{Partition: producer.On(1 - res.Partition)}, 10); err != nil {
			t.Fatalf("the other partition does not work: %+v", other)
		}
		if stuck > 10 {
			t.Errorf("%d of 600 records went to a partition without leader, or have no outcome", stuck)
		}
	})
}
