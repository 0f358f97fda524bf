package producer_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// wantLine checks that an error is one line that is not endless, and has some words.
func wantLine(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	if len(text) > 1<<10 || strings.ContainsAny(text, "\n\r\x00") {
		t.Errorf("%d bytes, %d lines: %.300q", len(text), 1+strings.Count(text, "\n"), text)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in %s", w, text)
		}
	}
}

// However often a record was tried, its error says what happened last, what
// happened first, and how often.
func TestErrorOfManyAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) { c.RetryBackoff, c.RetryBackoffMax = 200*time.Millisecond, 200*time.Millisecond })
		n := 0
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			n++
			switch {
			case n == 1:
				return producertest.Refuse(19).BadRecords(strings.Repeat("not enough\n", 500), 0)
			case n%3 == 0:
				return producertest.Drop()
			}
			return producertest.AppendThen(7)
		})
		res, err := r.sync(t.Context(), producer.Record{}, 10)
		if n < 100 || res.Outcome != producer.Unknown {
			t.Fatalf("%d attempts, %v", n, res.Outcome)
		}
		wantLine(t, err, fmt.Sprintf("after %d attempts: delivery timeout: ", n), "first: NOT_ENOUGH_REPLICAS (19)", fmt.Sprintf("(%d times since 20", n))
		for _, want := range []error{producer.ErrDeliveryTimeout, producer.Code(19)} {
			if !errors.Is(err, want) {
				t.Errorf("no %v in the chain of %v", want, err)
			}
		}
		r.judge()
	})
}

// An error about many brokers names some, and how many there are.
func TestErrorOfManyBrokers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, func(cfg *config.Config) {
			cfg.BootstrapServers = nil
			for i := range 100 {
				cfg.BootstrapServers = append(cfg.BootstrapServers, fmt.Sprintf("nowhere-%d.example:9092", i))
			}
			cfg.DeliveryTimeout = 35 * time.Second
		})
		ctx, cancel := contextFor(t, 20*time.Second)
		defer cancel()
		wantLine(t, p.Ping(ctx), "producer: ping: ", "nowhere-", "15 attempts failed")
		_, err := p.ProduceSync(t.Context(), numbered(0))
		wantLine(t, err, `record for "t" partition 0 not written after 0 attempts: delivery timeout: `, "nowhere-", "attempts failed")
	})
}

// A name that no topic can have does not make the error long, nor break its line.
func TestErrorOfALongName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), nil)
		for _, name := range []string{strings.Repeat("x", 1<<20), strings.Repeat("\n\x00", 120), strings.Repeat("\u2028", 80)} {
			err := r.p.TryProduce(producer.Record{Topic: name, Value: []byte("v"), Partition: producer.On(-1)}, nil)
			wantLine(t, err, "producer: record for ", " not written after 0 attempts: ")
			if !errors.Is(err, producer.ErrInvalidRecord) && !errors.Is(err, producer.ErrUnknownPartition) {
				t.Error(err)
			}
		}
	})
}

// What a lane says of all that follows a failure holds the failure, and stays short.
func TestErrorOfALane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane("t")
		c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			return producertest.Refuse(87).BadRecords(strings.Repeat("no key\n", 100), 0)
		})
		_, err := l.ProduceSync(t.Context(), numbered(0))
		wantLine(t, err, "INVALID_RECORD (87)")
		for i := range 3 {
			_, err = l.ProduceSync(t.Context(), numbered(1+i))
			wantLine(t, err, "the lane has stopped: ", "INVALID_RECORD (87)")
			if !errors.Is(err, producer.Code(87)) || !errors.Is(err, producer.ErrLaneFailed) {
				t.Error(err)
			}
		}
	})
}

// What is kept about the troubles of batches in doubt does not grow with each
// connection that breaks.
func TestErrorsTakeNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const batches = 2000
		r := newRig(t, topics(1), func(c *config.Config) {
			c.Linger, c.BatchBytes, c.RequestsInFlight = 0, 1, 2*batches
			c.ReconnectBackoff, c.ReconnectBackoffMax = 100*time.Millisecond, 100*time.Millisecond
		})
		if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
			t.Fatal(err)
		}
		hold := make(chan struct{})
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(hold) })
		for range batches {
			r.produce(t.Context(), producer.Record{}, 10)
		}
		synctest.Wait()
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Cut() })
		if err := r.c.CutConnections(0); err != nil {
			t.Fatal(err)
		}
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		time.Sleep(10 * time.Second)
		before, connections := heap(), r.p.Stats().Connections
		time.Sleep(90 * time.Second)
		after := heap()
		if n := r.p.Stats().Connections - connections; n < 20 || after-before > 4<<20 {
			t.Errorf("%d connections took %d bytes", n, after-before)
		}
		close(hold)
		r.flush(time.Minute)
		wantLine(t, r.result(1).Err, "delivery timeout: ", " times since ")
	})
}
