package producer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/internal/inspect"
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
	p       *partition
	topicID [16]byte // zero where brokers have none
	addr    string   // of the leader
	from    int64    // the offset behind the last success

	kind        auditKind
	broker      int32
	leaderEpoch int32
	producerID  int64
	asked       time.Time     // what is read shows all that was written before
	chain       inspect.Chain // of readChain: what was seen so far
}

// auditKind is what is to be found out.
type auditKind uint8

const (
	// readBatches: which batches in doubt are in the log. The broker forgot a
	// producer that is no lane.
	readBatches auditKind = iota
	// readChain: how far a lane is in the log, for a broker that may have
	// forgotten it.
	readChain
	// proveEntry: that all is replicated that the broker counts for the producer ID.
	proveEntry
)

func (k auditKind) String() string { return [...]string{"batches", "chain", "entry"}[k] }

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
		x.p.audited(x, findings{}, err)
		return
	}
	defer c.Abandon()
	var f findings
	switch x.kind {
	case proveEntry:
		f.entry, err = inspect.Committed(ctx, c, x.p.place(), x.leaderEpoch, x.producerID)
	case readChain:
		err = inspect.ReadChain(ctx, c, x.p.place(), x.topicID, x.leaderEpoch, x.producerID, &x.chain)
	default:
		_, err = inspect.Log(ctx, c, x.p.place(), x.topicID, x.from, func(h inspect.Header) {
			if h.ProducerID == x.producerID {
				f.batches = append(f.batches, h)
			}
		})
	}
	x.p.audited(x, f, err)
}

// findings are what an audit brought.
type findings struct {
	batches []inspect.Header
	entry   inspect.Entry // of proveEntry
}

// audited takes the findings.
func (p *partition) audited(x *audit, f findings, err error) {
	p.mu.Lock()
	var fx effects
	if p.inquiry.reading == x {
		p.inquiry.reading = nil
		fx.say(slog.LevelInfo, "read the log", "for", x.kind.String(),
			"from", x.from, "batches", len(f.batches), "seen", x.chain.Known, "last_sequence", x.chain.Last, "read_to", x.chain.Next, "err", err)
		switch x.kind {
		case proveEntry:
			p.proved(x, f.entry, err, &fx, time.Now())
		case readChain:
			p.chainRead(x, err, &fx, time.Now())
		default:
			p.read(f.batches, err, &fx)
		}
		fx.enqueue = p.target
	}
	p.mu.Unlock()
	p.do(fx)
}

// read takes what was seen in the log: the batches from the oldest on, each of
// which must be there itself. A broker that has forgotten the producer takes any
// batch as its first, so one that is there proves nothing of those before it. What
// was not seen, and all behind it, stays unknown: a request may still be under way.
func (p *partition) read(seen []inspect.Header, err error, fx *effects) {
	for _, h := range seen {
		if i, ok := p.win.Find(h.Epoch, throttle.Sequence(h.Base)); ok && i == p.base {
			p.resolve(p.win.Seen(i, h.Offset), fx)
		}
	}
	p.stateGone(because(ErrStateLost, err), fx)
}
