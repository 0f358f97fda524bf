package producer

import (
	"sync/atomic"
	"time"

	"github.com/sluice-kafka/sluice/throttle"
)

// counters are written by all loops and read by Stats, without a lock.
type counters struct {
	written, notWritten, unknown    atomic.Int64
	requests, resends               atomic.Int64
	duplicates, outOfOrder          atomic.Int64
	connections, dialFailures       atomic.Int64
	throttled, throttledTime        atomic.Int64
	questions                       atomic.Int64
	brokerThrottled, alarms, panics atomic.Int64
}

func (c *counters) outcome(o Outcome, n int) {
	switch o {
	case Written:
		c.written.Add(int64(n))
	case NotWritten:
		c.notWritten.Add(int64(n))
	default:
		c.unknown.Add(int64(n))
	}
}

// gauge is what a partition shows of itself.
type gauge struct {
	available atomic.Bool // it has a leader
	sequences atomic.Int32
	batches   atomic.Int32
	window    atomic.Int32
	hold      atomic.Uint32
	epoch     atomic.Int32
	waiting   atomic.Int32 // sealed batches that wait to be written
	// unresolved batches, sealed ones; kept by whoever changes their number
	unresolved atomic.Int32
	deepest    atomic.Int32 // most sequences in flight so far

	done totals
}

// totals are what a partition has written, by batches that are written.
type totals struct {
	records, batches, bytes, raw, resends atomic.Int64
	waited                                atomic.Int64 // nanoseconds, summed over batches
}

// add counts a batch that is written.
func (t *totals) add(b *batch, now time.Time) {
	t.records.Add(int64(b.Records()))
	t.batches.Add(1)
	t.bytes.Add(int64(b.Bytes()))
	t.raw.Add(int64(b.raw))
	t.waited.Add(int64(now.Sub(b.created)))
}

// publish brings the gauge up to date. It is called with the lock held.
func (p *partition) publish() {
	s := p.win.State()
	g := &p.gauge
	g.sequences.Store(s.Sequences)
	g.batches.Store(s.Outstanding)
	g.window.Store(s.Limits.Sequences)
	g.epoch.Store(int32(s.Epoch))
	g.waiting.Store(int32(s.End - s.Nxt))
	if s.Sequences > g.deepest.Load() {
		g.deepest.Store(s.Sequences)
	}
}

// Stats is what a producer has done and where it stands. Counters count from
// New on.
type Stats struct {
	Written, NotWritten, Unknown int64 // records with that outcome

	BufferedBytes int64 // of records without an outcome
	Blocked       int   // callers that wait for room in the buffer

	Requests   int64 // Produce requests written
	Resends    int64 // batches written again
	Duplicates int64 // DUPLICATE_SEQUENCE_NUMBER answers, dropped
	OutOfOrder int64 // OUT_OF_ORDER_SEQUENCE_NUMBER answers, resent in order

	Questions int64 // put to brokers about what they know of us (DescribeProducers)

	Connections  int64 // opened for records
	DialFailures int64

	Throttled       int64         // times that the window held back a batch
	ThrottledTime   time.Duration // for so long, summed over partitions
	BrokerThrottled time.Duration // silence that brokers asked for (KIP-219)

	Alarms         int64 // the log was not what had been acknowledged
	CallbackPanics int64

	Brokers    []BrokerStats    // one for each connection, in no order
	Partitions []PartitionStats // those known so far, in no order
}

// BrokerStats is one connection for records in Stats.
//
// ID and Connection name it among all rows.
type BrokerStats struct {
	ID         int32 // of the broker
	Connection int   // from 0, below connections.per.broker

	Connected bool          // a connection is up
	Requests  int           // written and not answered
	Depth     int           // how many may be: what more would only wait at the broker
	Bytes     int64         // written and not answered
	Shortest  time.Duration // answer time of late
}

// PartitionStats is one partition of Stats, as one lane sees it.
//
// Topic, Partition and Lane name it among all rows.
type PartitionStats struct {
	Topic     string
	Partition int32
	Lane      int64 // in the order in which lanes were made, from 1; 0: the producer's own records

	// What is written, since the first record of the row. A batch that the log was
	// found to hold counts as one that was sent.
	Records        int64         // records
	WrittenBatches int64         // batches
	Bytes          int64         // of these batches, compressed if so configured
	RawBytes       int64         // the same without compression
	Resends        int64         // attempts beyond the first of a batch, whatever came of it
	Waited         time.Duration // from a batch's first record to its outcome, summed over WrittenBatches

	Available bool   // its leader is known
	Sequences int32  // in flight: written and not resolved
	Deepest   int32  // the most of them so far
	Window    int32  // how many may be
	Batches   int32  // written and not answered
	Waiting   int32  // batches that wait to be written
	Epoch     int16  // of the producer ID, in this partition
	Hold      string // why nothing was written when the sender looked last, "ready" if something was
}

// Stats returns a snapshot. It does not get in the way of what is being sent,
// so it may be called as often as you like.
func (pr *Producer) Stats() Stats {
	c := &pr.stats
	s := Stats{
		Written: c.written.Load(), NotWritten: c.notWritten.Load(), Unknown: c.unknown.Load(),
		BufferedBytes: pr.budget.used.Load(), Blocked: int(pr.budget.waiting.Load()),
		Requests: c.requests.Load(), Resends: c.resends.Load(),
		Duplicates: c.duplicates.Load(), OutOfOrder: c.outOfOrder.Load(),
		Questions:   c.questions.Load(),
		Connections: c.connections.Load(), DialFailures: c.dialFailures.Load(),
		Throttled: c.throttled.Load(), ThrottledTime: time.Duration(c.throttledTime.Load()),
		BrokerThrottled: time.Duration(c.brokerThrottled.Load()),
		Alarms:          c.alarms.Load(), CallbackPanics: c.panics.Load(),
	}
	for _, b := range *pr.senders.Load() {
		s.Brokers = append(s.Brokers, b.stats())
	}
	pr.each(func(p *partition) {
		g := &p.gauge
		s.Partitions = append(s.Partitions, PartitionStats{
			Topic: p.topic.name, Partition: p.index, Lane: p.topic.lane.number, Available: g.available.Load(),
			Records: g.done.records.Load(), WrittenBatches: g.done.batches.Load(), Bytes: g.done.bytes.Load(),
			RawBytes: g.done.raw.Load(), Resends: g.done.resends.Load(), Waited: time.Duration(g.done.waited.Load()),
			Sequences: g.sequences.Load(), Deepest: g.deepest.Load(), Window: g.window.Load(),
			Batches: g.batches.Load(), Waiting: g.waiting.Load(), Epoch: int16(g.epoch.Load()),
			Hold: throttle.Hold(g.hold.Load()).String(),
		})
	})
	return s
}
