package e2e

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/verify"
	"github.com/sluice-kafka/sluice/producer"
)

// load is a producer that is kept busy, in a topic with a replica on each of
// three nodes.
type load struct {
	*run
	deepest atomic.Int32 // most batches of a partition on the wire at once
	idle    chan bool    // told to rest, or to go on
	end     chan struct{}
	ended   sync.WaitGroup
}

const (
	// Batches of a few records, each in a request of its own: what the brokers
	// can take is soon reached, and the rest is in flight.
	loadBatch  = 1 << 10
	loadBuffer = 5 << 18
	// wantedDepth is how many batches of a partition a fault must meet on the
	// wire, where the usual clients have five.
	wantedDepth = 100
	// loadRequests takes the producer's own choice away, which would soon find
	// out that so many requests bring nothing here.
	loadRequests = 1000
)

// busy makes a topic and has a producer write to it as fast as it can.
func (s *stage) busy(topic string, partitions int32, set func(*config.Config)) *load {
	s.t.Helper()
	l := &load{idle: make(chan bool), end: make(chan struct{})}
	l.run = s.produceTo(topic, partitions, 3, func(c *config.Config) {
		c.BatchBytes, c.BufferBytes, c.MaxBlock = loadBatch, loadBuffer, config.Unbounded
		c.RequestTimeout, c.DeliveryTimeout = 4*time.Second, time.Hour
		c.RequestsInFlight = loadRequests
		if set != nil {
			set(c)
		}
	})
	l.ended.Go(l.produceOn)
	l.ended.Go(l.watch)
	return l
}

func (l *load) produceOn() {
	for resting := false; ; {
		if resting {
			select {
			case resting = <-l.idle:
			case <-l.end:
				return
			}
			continue
		}
		select {
		case resting = <-l.idle:
		case <-l.end:
			return
		default:
			l.produce(10, 20, 200, nil)
		}
	}
}

func (l *load) watch() {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, p := range l.p.Stats().Partitions {
				l.deepest.Store(max(l.deepest.Load(), p.Batches))
			}
		case <-l.end:
			return
		}
	}
}

// rest stops the producing until wake, and returns when nothing is in flight.
func (l *load) rest() {
	l.t.Helper()
	l.idle <- true
	l.must(l.p.Flush(l.t.Context()))
}

func (l *load) wake() { l.idle <- false }

// stop ends the load and judges it.
func (l *load) stop() (producer.Stats, verify.Verdict) {
	l.t.Helper()
	close(l.end)
	l.ended.Wait()
	return l.judge()
}

// unanswered is the number of batches on the wire.
func (l *load) unanswered() (n int32) {
	for _, p := range l.p.Stats().Partitions {
		n += p.Batches
	}
	return n
}

// deep waits until enough batches of a partition are on the wire.
func (l *load) deep() {
	l.t.Helper()
	l.until("a partition in full flight", func() bool {
		for _, p := range l.p.Stats().Partitions {
			if p.Batches >= wantedDepth {
				return true
			}
		}
		return false
	})
}

// goesOn waits until so many more records are written.
func (l *load) goesOn(n int64) {
	l.t.Helper()
	l.written(l.p.Stats().Written + n)
}

// leader returns the node that leads a partition, once one does.
func (l *load) leader(partition int32) (node int) {
	l.t.Helper()
	l.until("a leader", func() bool {
		leaders, err := l.kafka.Leaders(l.topic)
		node = leaders[partition]
		return err == nil && len(leaders) > 0 && node >= 0
	})
	return node
}

// led waits until another node leads the partition.
func (l *load) ledByOther(partition int32, than int) {
	l.t.Helper()
	l.until("another leader", func() bool {
		leaders, err := l.kafka.Leaders(l.topic)
		node, ok := leaders[partition]
		return err == nil && ok && node >= 0 && node != than
	})
}
