package producer

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
	"go.uber.org/atomic"
)

// broker is a sender: one connection to a broker, for the partitions that are
// pinned to it. It connects when there is something to send; its loop is the
// only writer of the connection.
type broker struct {
	pr     *Producer
	id     int32
	share  *share // of the budget, for all connections to the broker
	addr   atomic.String
	err    atomic.Error         // of the latest attempt to connect
	window atomic.Int32         // sequences, as the latest connection was told; 0: stock
	link   atomic.Pointer[link] // nil while there is none
	woken  chan struct{}

	mu    sync.Mutex
	ready []*partition // to be looked at

	// Of the loop alone:
	todo   turn // taken from ready
	taken  []*partition
	joint  []*partition // go along with the next request, or answer
	heard  int64        // answers, when they were looked at
	timers timers
	timer  *time.Timer
	out    output
}

func newBroker(pr *Producer, id int32, share *share) *broker {
	b := &broker{pr: pr, id: id, share: share, woken: make(chan struct{}, 1), out: newOutput(pr), timer: time.NewTimer(0)}
	b.timer.Stop()
	return b
}

// enqueue asks the sender to look at the partition. It never blocks, and
// whoever calls it holds no lock.
//
// The rule that lets nobody sleep: whoever changes a partition enqueues it, after
// the change, at the broker that leads it by then, and a change of the leader is
// such a change. So an entry may be stale, at a broker that leads no more, and
// costs a look then. The mark in queued saves a second entry, and nothing hangs
// on it: where two brokers are in play it is that of the latest enqueue only.
func (b *broker) enqueue(p *partition) {
	if p.queued.Swap(b) == b {
		return
	}
	b.mu.Lock()
	b.ready = append(b.ready, p)
	b.mu.Unlock()
	if l := b.link.Load(); l == nil || !l.choked.Load() {
		b.nudge()
	}
}

func (b *broker) nudge() {
	select {
	case b.woken <- struct{}{}:
	default:
	}
}

// collect moves to todo what became ready, and what was to be looked at by now.
func (b *broker) collect(now time.Time) {
	b.mu.Lock()
	b.taken, b.ready = b.ready, b.taken[:0]
	b.mu.Unlock()
	for _, p := range b.taken {
		// From here on a change puts it into ready again. It is looked at
		// whosever the mark is: a stale entry elsewhere may have taken it.
		p.queued.CompareAndSwap(b, nil)
		b.todo.push(p)
	}
	clear(b.taken)
	for p := b.timers.due(now); p != nil; p = b.timers.due(now) {
		b.todo.push(p)
	}
}

// lastError is why the broker cannot be reached, nil if it can.
func (b *broker) lastError() error { return b.err.Load() }

// run connects whenever there is work, until ctx ends.
func (b *broker) run(ctx context.Context) {
	backoff := retry.NewBackoff(b.pr.cfg.ReconnectBackoff, b.pr.cfg.ReconnectBackoffMax)
	for ctx.Err() == nil {
		b.collect(time.Now())
		b.todo.keep(func(p *partition) bool { return p.wants(b) })
		if b.todo.first() == nil {
			b.wait(ctx, b.timers.first())
			continue
		}
		if b.once(ctx) {
			backoff.Reset()
			continue
		}
		// Not reached, or reached and left without an answer: both can go on
		// for long.
		b.pause(ctx, backoff.Next(rand.Float64()))
	}
}

// once is the life of one connection. It reports whether it was of any use.
func (b *broker) once(ctx context.Context) bool {
	l, err := b.connect(ctx)
	b.err.Store(err)
	switch {
	case err == nil:
		b.link.Store(l)
		defer b.link.Store(nil)
		return b.serve(ctx, l)
	case ctx.Err() == nil:
		b.pr.stats.dialFailures.Add(1)
		b.pr.log.Warn("cannot connect", "broker", b.id, "addr", b.addr.Load(), "err", err)
		b.pr.control.refresh()
	}
	return false
}

// wait blocks until there is something to look at, the time has come (zero:
// never), or ctx ended.
func (b *broker) wait(ctx context.Context, until time.Time) {
	if !until.IsZero() {
		b.timer.Reset(time.Until(until))
		defer b.timer.Stop()
	}
	select {
	case <-b.woken:
	case <-b.timer.C:
	case <-ctx.Done():
	}
}

// pause blocks for the duration, whatever becomes ready meanwhile.
func (b *broker) pause(ctx context.Context, d time.Duration) {
	b.timer.Reset(d)
	defer b.timer.Stop()
	select {
	case <-b.timer.C:
	case <-ctx.Done():
	}
}

// connect dials the broker and learns what it allows.
func (b *broker) connect(ctx context.Context) (*link, error) {
	addr := b.addr.Load()
	c, err := b.pr.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	version, ok := c.Version(produceKey, maxProduceVersion)
	if !ok || version < minProduceVersion {
		c.Abandon()
		return nil, errors.New("broker offers no usable version of Produce")
	}
	limits := b.limits(c)
	b.pr.stats.connections.Add(1)
	b.pr.log.Info("connected", "broker", b.id, "addr", addr, "produce_version", version,
		"sequence_window", limits.Sequences, "window_from", b.windowFrom())
	return newLink(b, c, limits, version), nil
}

// limits is how far partitions on the connection may run ahead: as the broker
// says (KIP-758), or as the user says, whichever is less.
func (b *broker) limits(c *conn.Conn) throttle.Limits {
	window, err := c.SequenceWindow()
	if err != nil {
		b.pr.log.Warn("broker names an impossible sequence window, taken for a stock broker", "broker", b.id, "err", err)
	}
	if id := b.pr.latest.Load(); id != nil && id.broker == b.id && id.window > 0 && (window == 0 || id.window < window) {
		window = id.window
	}
	b.window.Store(window)
	limits := throttle.Limits{Sequences: b.pr.cfg.MaxInFlightSequences, Batches: int32(b.pr.cfg.MaxInFlightBatches)}
	if window > 0 && window < limits.Sequences {
		limits.Sequences = window
	}
	return limits
}

func (b *broker) windowFrom() string {
	if w := b.window.Load(); w > 0 && w <= b.pr.cfg.MaxInFlightSequences {
		return "broker"
	}
	return "config"
}

func (b *broker) stats() BrokerStats {
	s := BrokerStats{ID: b.id}
	if l := b.link.Load(); l != nil {
		s.Connected, s.Bytes = true, l.inFlight.Load()
		l.mu.Lock()
		s.Requests, s.Depth, s.Shortest = l.requests.len(), l.depth.Limit(), l.depth.Shortest()
		l.mu.Unlock()
	}
	return s
}
