package producer

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/sluice-kafka/sluice/throttle"
)

// auditor looks into the log where a partition cannot go on without: a broker has
// forgotten the producer while batches were in doubt, and what is seen below the
// high watermark is written, whoever remembers it or not (protocol rule R8); or a
// former process came further than ours, and what it wrote may not be replicated
// yet. That is rare and may take long. So each broker has goroutines and connections
// of their own for it while there is something to look into, a few, however many
// partitions it leads.
type auditor struct {
	pr  *Producer
	ctx context.Context

	mu      sync.Mutex
	logs    map[string]*reading // by address; one that is there has a goroutine
	desks   map[string]*desk    // the same, for proofs
	askers  map[*broker]*asker  // the same, for questions with large answers
	stopped bool
	ended   sync.WaitGroup
}

// audit is the look for one partition.
type audit struct {
	p       *partition
	topicID [16]byte // zero where brokers have none
	addr    string   // of the leader
	from    int64    // the offset behind the last success

	kind       auditKind
	leader     flight.Leader
	producerID int64
	asked      time.Time     // what is read shows all that was written before
	chain      inspect.Chain // of readChain: what was seen before this one began
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

// reading is the line of those at one broker whose log is to be read.
type reading struct {
	waiting queue[*audit]
	readers int // goroutines
}

// mostReaders bounds the connections to a broker on which logs are read at once. A
// log may be long.
const mostReaders = 4

func newAuditor(pr *Producer, ctx context.Context) auditor {
	return auditor{pr: pr, ctx: ctx, logs: map[string]*reading{}, desks: map[string]*desk{}, askers: map[*broker]*asker{}}
}

func (a *auditor) enqueue(x *audit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.stopped:
	case x.kind == proveEntry:
		a.proveLocked(x)
	default:
		a.readLocked(x)
	}
}

func (a *auditor) readLocked(x *audit) {
	r := a.logs[x.addr]
	if r == nil {
		r = new(reading)
		a.logs[x.addr] = r
	}
	r.waiting.push(x)
	if r.readers < mostReaders {
		r.readers++
		a.ended.Go(func() { a.readLogs(x.addr, r) })
	}
}

func (a *auditor) readLogs(addr string, r *reading) {
	for x := a.next(addr, r); x != nil; x = a.next(addr, r) {
		if x.wanted() {
			f, err := a.readLog(x)
			x.p.audited(x, f, err)
		}
	}
}

// next returns nil if there is no more log to read.
func (a *auditor) next(addr string, r *reading) *audit {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.waiting.len() > 0 && a.ctx.Err() == nil {
		return r.waiting.pop()
	}
	if r.readers--; r.readers == 0 {
		delete(a.logs, addr)
	}
	return nil
}

// stop waits for what is under way. The context has ended.
func (a *auditor) stop() {
	a.mu.Lock()
	a.stopped = true
	a.mu.Unlock()
	a.ended.Wait()
}

// readLog takes no longer than one request may.
func (a *auditor) readLog(x *audit) (f findings, err error) {
	ctx, cancel := context.WithTimeout(a.ctx, a.pr.cfg.RequestTimeout)
	defer cancel()
	f.chain = x.chain // a copy: an audit that follows the leader begins with that of x, too
	c, err := a.pr.dial(ctx, x.addr)
	if err != nil {
		return f, err
	}
	defer c.Abandon()
	if x.kind == readChain {
		err = inspect.ReadChain(ctx, c, x.p.place(), x.topicID, x.leader.Epoch, x.producerID, &f.chain)
		return f, err
	}
	_, err = inspect.Log(ctx, c, x.p.place(), x.topicID, x.from, math.MaxInt64, func(h inspect.Header) bool {
		return h.ProducerID != x.producerID || x.found(h, &f)
	})
	return f, err
}

// found takes a batch of ours if it is one in doubt, and reports whether there may be
// more of them. So there are no more findings than batches, whatever a broker says.
func (x *audit) found(h inspect.Header, f *findings) (more bool) {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	i, ok := x.p.win.Find(h.Epoch, throttle.Sequence(h.Base))
	if ok && i >= f.next {
		f.batches, f.next = append(f.batches, h), i+1
	}
	return x.p.inquiry.reading == x && f.next < x.p.win.State().Max
}

// findings are what an audit brought.
type findings struct {
	batches []inspect.Header
	chain   inspect.Chain // of readChain, with an error what was seen so far
	next    uint64        // in the window, behind the last of them
	entry   inspect.Entry // of proveEntry
}

// wanted reports whether the partition still waits for the audit.
func (x *audit) wanted() bool {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	return x.p.inquiry.reading == x
}

// readElsewhere lets an audit follow the leader: what the former one says, or does
// not say for a request timeout, need not be waited for.
func (p *partition) readElsewhere(to leader, fx *effects) {
	if p.inquiry.reading == nil || to.broker == nil {
		return
	}
	x := *p.inquiry.reading
	x.addr, x.leader = to.broker.addr.Load(), flight.Leader{Broker: to.broker.id, Epoch: to.epoch}
	p.inquiry.reading, fx.audit = &x, &x
}

// audited takes the findings.
func (p *partition) audited(x *audit, f findings, err error) {
	p.mu.Lock()
	var fx effects
	if p.inquiry.reading == x {
		p.inquiry.reading = nil
		fx.say(slog.LevelInfo, "read the log", "for", x.kind.String(),
			"from", x.from, "batches", len(f.batches), "seen", f.chain.Known, "last_sequence", f.chain.Last, "read_to", f.chain.Next, "err", err)
		switch x.kind {
		case proveEntry:
			p.proved(x, f.entry, err, &fx, time.Now())
		case readChain:
			p.chainRead(x, f.chain, err, &fx, time.Now())
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
