package producer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// auditor reads the log where a broker has forgotten the producer while batches
// were in doubt: what is seen below the high watermark is written, whoever
// remembers it or not (protocol rule R8). That is rare and may take long, so each
// broker has a goroutine and a connection for it while there is something to
// look into: one that does not answer holds up no other.
type auditor struct {
	pr  *Producer
	ctx context.Context

	mu      sync.Mutex
	queues  map[string][]*audit // by address; one that is there has a goroutine
	stopped bool
	ended   sync.WaitGroup
}

// audit is the reading for one partition.
type audit struct {
	flight.Reading
	p       *partition
	topicID [16]byte      // zero where brokers have none
	addr    string        // of the leader
	chain   inspect.Chain // of ReadChain: what was seen so far
}

func (p *partition) newAudit(r flight.Reading) *audit {
	x := &audit{Reading: r, p: p, topicID: p.topic.knownID(), addr: p.link.broker.addr.Load()}
	x.chain.Next = r.From
	return x
}

func (a *auditor) enqueue(x *audit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return
	}
	queue, running := a.queues[x.addr]
	a.queues[x.addr] = append(queue, x)
	if !running {
		a.ended.Go(func() { a.run(x.addr) })
	}
}

func (a *auditor) run(addr string) {
	for x := a.next(addr); x != nil; x = a.next(addr) {
		a.carryOut(a.ctx, x)
	}
}

// next returns nil if there is nothing more to look into.
func (a *auditor) next(addr string) *audit {
	a.mu.Lock()
	defer a.mu.Unlock()
	queue := a.queues[addr]
	if len(queue) == 0 || a.ctx.Err() != nil {
		delete(a.queues, addr)
		return nil
	}
	a.queues[addr] = queue[1:]
	return queue[0]
}

// stop waits for what is under way. The context has ended.
func (a *auditor) stop() {
	a.mu.Lock()
	a.stopped = true
	a.mu.Unlock()
	a.ended.Wait()
}

// carryOut takes no longer than one request may.
func (a *auditor) carryOut(ctx context.Context, x *audit) {
	ctx, cancel := context.WithTimeout(ctx, a.pr.cfg.RequestTimeout)
	defer cancel()
	c, err := a.pr.dial(ctx, x.addr)
	if err != nil {
		x.p.audited(x, flight.Findings{}, err)
		return
	}
	defer c.Abandon()
	f, err := x.read(ctx, c)
	x.p.audited(x, f, err)
}

func (x *audit) read(ctx context.Context, c *conn.Conn) (f flight.Findings, err error) {
	at := x.p.place()
	switch x.Kind {
	case flight.ProveEntry:
		var e inspect.Entry
		e, err = inspect.Committed(ctx, c, at, x.Leader.Epoch, x.ProducerID)
		f.Known, f.Epoch, f.Last = e.Known, e.Epoch, e.Last
	case flight.ReadChain:
		err = inspect.ReadChain(ctx, c, at, x.topicID, x.Leader.Epoch, x.ProducerID, &x.chain)
		f.Known, f.Epoch, f.Last, f.Next = x.chain.Known, x.chain.Epoch, x.chain.Last, x.chain.Next
	default:
		_, err = inspect.Log(ctx, c, at, x.topicID, x.From, func(h inspect.Header) {
			if h.ProducerID == x.ProducerID {
				f.Batches = append(f.Batches, flight.LogBatch{Epoch: h.Epoch, Base: throttle.Sequence(h.Base), Offset: h.Offset})
			}
		})
	}
	return f, err
}

// result says what an error means for what was to be read.
func (x *audit) result(err error) flight.ReadResult {
	switch {
	case err == nil:
		return flight.ReadAll
	case errors.Is(err, inspect.ErrDeleted), errors.Is(err, errors.ErrUnsupported):
		return flight.ReadDeleted
	case errors.Is(err, inspect.ErrTruncated):
		return flight.ReadTruncated
	case errors.Is(err, retry.TopicAuthorizationFailed):
		return flight.ReadClosed
	}
	return flight.ReadFailed
}

// audited takes the findings.
func (p *partition) audited(x *audit, f flight.Findings, err error) {
	f.Result = x.result(err)
	now := time.Now()
	p.mu.Lock()
	var e flight.Effects
	p.detail = err
	if p.own.Read(x.Number, f, now, &e) {
		if f.Result == flight.ReadClosed {
			p.topic.closedToUs.Store(now)
		}
		p.carry(e)
		p.fx.enqueue = p.target
		p.fx.say = func() {
			p.pr.log.Info("read the log", "topic", p.topic.name, "partition", p.index, "for", x.Kind.String(),
				"from", x.From, "batches", len(f.Batches), "seen", f.Known, "last_sequence", f.Last, "read_to", f.Next, "err", err)
		}
	}
	p.detail = nil
	p.unlock()
}
