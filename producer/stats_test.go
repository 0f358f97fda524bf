package producer_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// Each figure of Stats counts what it says.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(2)
		cc.SequenceWindow = 10
		r := newRig(t, cc, func(c *config.Config) { c.BatchBytes, c.Linger = 130, 0 })
		if s := r.p.Stats(); len(s.Partitions) != 0 || s.Requests != 0 {
			t.Errorf("at first: %+v", s)
		}
		hold := make(chan struct{})
		n := 0
		r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			switch n++; {
			case n == 1:
				return producertest.Hold(hold)
			case n == 3:
				return producertest.Refuse(19)
			case a.FirstTime() && a.Partition == 1:
				return producertest.Refuse(87)
			}
			return producertest.Fault{}
		})
		for range 100 {
			r.produce(t.Context(), producer.Record{Partition: producer.On(0)}, 20)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		s := r.p.Stats()
		if p := s.Partitions[0]; p.Topic != "t" || p.Partition != 0 || !p.Available || p.Window != 10 || p.Batches != 1 ||
			p.Sequences < 1 || p.Sequences > 10 || p.Hold != "gate" || s.BufferedBytes == 0 || s.Requests != 1 || s.Connections != 1 {
			t.Errorf("held: %+v", s)
		}
		close(hold)
		r.flush(time.Minute)
		r.produce(t.Context(), producer.Record{Partition: producer.On(1)}, 20)
		r.flush(time.Minute)
		synctest.Wait() // the sender has looked again
		s = r.p.Stats()
		if s.Written != 100 || s.NotWritten != 1 || s.Unknown != 0 || s.BufferedBytes != 0 || s.Resends == 0 || s.OutOfOrder == 0 ||
			s.Throttled == 0 || s.Alarms != 0 || s.CallbackPanics != 0 || s.DialFailures != 0 || s.Blocked != 0 {
			t.Errorf("in the end: %+v", s)
		}
		if p := s.Partitions[0]; p.Sequences != 0 || p.Batches != 0 || p.Waiting != 0 || p.Deepest < 8 || p.Deepest > 10 || p.Hold != "empty" {
			t.Errorf("in the end: %+v", p)
		}
		r.judge()
	})
}

// The silence that a broker asks for is counted, and kept (KIP-219).
func TestStatsBrokerThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		r.sync(t.Context(), producer.Record{}, 10)
		throttled := false
		r.c.OnResponse(func(resp *producertest.Response) {
			if resp.Request.Key() == produceAPI && !throttled {
				throttled, resp.Throttle = true, 3*time.Second
			}
		})
		r.sync(t.Context(), producer.Record{}, 10)
		begun := time.Now()
		r.sync(t.Context(), producer.Record{}, 10)
		if d := time.Since(begun); d != 3*time.Second {
			t.Errorf("the next one took %v", d)
		}
		if s := r.p.Stats(); s.BrokerThrottled != 3*time.Second || s.Connections != 1 {
			t.Errorf("%+v", s)
		}
		r.judge()
	})
}

// Stats takes no lock, so it may be called all the time by anyone.
func TestStatsDuringEverything(t *testing.T) {
	r := newRig(t, producertest.Config{InMemory: true, Brokers: 2, Topics: map[string]int32{"t": 4}}, func(c *config.Config) { c.BatchBytes = 500 })
	r.unordered = true
	stop := make(chan struct{})
	var asking, running sync.WaitGroup
	for range 3 {
		asking.Go(func() {
			last := int64(0)
			for {
				s := r.p.Stats()
				if s.Written < last || s.BufferedBytes < 0 || s.Blocked < 0 {
					t.Errorf("%+v", s)
				}
				last = s.Written
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 4 {
		running.Go(func() {
			for range 500 {
				r.produce(context.Background(), producer.Record{}, 30)
			}
		})
	}
	for i := range int32(10) {
		if err := errors.Join(r.c.MoveLeader("t", i%4, i%2), r.c.CutConnections(i%2)); err != nil {
			t.Fatal(err)
		}
		r.flush(time.Minute)
	}
	running.Wait()
	sum := r.judge()
	close(stop)
	asking.Wait()
	if sum.written != 2000 {
		t.Errorf("%+v %v", sum, r.firstError())
	}
}

// ProduceAll returns the results in the order of its records; Err is the first
// that failed.
func TestProduceAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(3), func(c *config.Config) { c.Linger = time.Hour; c.DeliveryTimeout = 3 * time.Hour })
		if all := r.p.ProduceAll(t.Context()); len(all) != 0 || all.Err() != nil {
			t.Errorf("nothing: %v", all)
		}
		begun := time.Now()
		all := r.p.ProduceAll(t.Context(),
			producer.Record{Topic: "t", Partition: producer.On(2), Tag: 0},
			producer.Record{Topic: "", Tag: 1},
			producer.Record{Topic: "t", Partition: producer.On(-4), Tag: 2},
			producer.Record{Topic: "t", Partition: producer.On(1), Tag: 3},
		)
		if len(all) != 4 || time.Since(begun) > time.Second {
			t.Fatalf("%d results after %v", len(all), time.Since(begun))
		}
		for i, want := range []error{nil, producer.ErrInvalidRecord, producer.ErrUnknownPartition, nil} {
			if res := all[i]; res.Tag != i || !errors.Is(res.Err, want) || (want == nil) != (res.Outcome == producer.Written) {
				t.Errorf("result %d: %+v", i, res)
			}
		}
		if err := all.Err(); !errors.Is(err, producer.ErrInvalidRecord) {
			t.Errorf("%v", err)
		}
		if s := r.p.Stats(); s.Written != 2 || s.NotWritten != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// A ProduceAll that is cut short tells what is known, and the results it
// returned do not change any more.
func TestProduceAllCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(2), nil)
		hold := make(chan struct{})
		r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.Partition == 1 {
				return producertest.Hold(hold)
			}
			return producertest.Fault{}
		})
		r.p.Produce(t.Context(), producer.Record{Topic: "t", Partition: producer.On(0)}, nil)
		r.flush(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		all := r.p.ProduceAll(ctx,
			producer.Record{Topic: "t", Partition: producer.On(-1)},
			producer.Record{Topic: "t", Partition: producer.On(1)},
		)
		check := func(when string) {
			if all[0].Outcome != producer.NotWritten || all[1].Outcome != producer.Unknown || !errors.Is(all[1].Err, context.DeadlineExceeded) {
				t.Errorf("%s: %+v", when, all)
			}
		}
		check("at first")
		close(hold)
		r.flush(time.Minute)
		check("later")
		if s := r.p.Stats(); s.Written != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// Every row has its key, and the rows of a partition say what each lane wrote.
func TestStatsRowsAreToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(2))
		p := newProducer(t, c, func(c *config.Config) {
			c.ConnectionsPerBroker = 2
			_ = c.Compression.UnmarshalText([]byte("gzip"))
		})
		one, two := p.Lane(), p.Lane()
		value := bytes.Repeat([]byte("a"), 1000)
		produce := func(to interface {
			ProduceSync(context.Context, producer.Record) (producer.Result, error)
		}, n int) {
			for i := range n {
				if _, err := to.ProduceSync(t.Context(), producer.Record{Topic: "t", Partition: producer.On(int32(i % 2)), Value: value}); err != nil {
					t.Fatal(err)
				}
			}
		}
		produce(p, 2)
		produce(one, 4)
		produce(two, 6)
		type key struct {
			topic     string
			partition int32
			lane      int64
		}
		rows := map[key]producer.PartitionStats{}
		s := p.Stats()
		for _, r := range s.Partitions {
			k := key{r.Topic, r.Partition, r.Lane}
			if _, twice := rows[k]; twice {
				t.Errorf("%+v is there twice", k)
			}
			rows[k] = r
		}
		for lane, want := range []int64{1, 2, 3} {
			for partition := range int32(2) {
				r := rows[key{"t", partition, int64(lane)}]
				if r.Records != want || r.WrittenBatches != want || r.RawBytes < 1000*want || r.Bytes > r.RawBytes/2 || r.Resends != 0 {
					t.Errorf("lane %d, partition %d: %+v", lane, partition, r)
				}
			}
		}
		connections := map[[2]int32]bool{}
		for _, b := range s.Brokers {
			connections[[2]int32{b.ID, int32(b.Connection)}] = true
		}
		if len(connections) != len(s.Brokers) || len(connections) != 2 {
			t.Errorf("%+v", s.Brokers)
		}
	})
}
