package producer

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/sluice-kafka/sluice/internal/wire"
)

const (
	produceKey        = 0
	minProduceVersion = wire.MinProduceVersion
	maxProduceVersion = wire.MaxProduceVersion
	acksAll           = -1

	// Requests go out together up to so many bytes: where they are small the
	// system call and the wake-up of the broker cost more than the bytes.
	writeBytes = 64 << 10
)

// errEnded is the end of a connection that nobody needs any more.
var errEnded = errors.New("connection closed by the producer")

// output is the request that a sender builds, with memory that serves again.
type output struct {
	req     wire.ProduceRequest
	scratch []byte
	pieces  [][]byte
	staged  int64 // bytes in pieces: requests to be written at once
	limit   int
	has     map[inspect.Place]bool // what is in req, where several lanes may write to one partition
}

func newOutput(pr *Producer) output {
	return output{
		req: wire.ProduceRequest{
			ClientID: pr.cfg.ClientID, Acks: acksAll,
			// The broker gives up waiting for its replicas before we give up
			// waiting for the broker.
			TimeoutMillis: int32((pr.cfg.RequestTimeout * 2 / 3).Milliseconds()),
		},
		limit: pr.cfg.MaxRequestBytes,
		has:   map[inspect.Place]bool{},
	}
}

// serve sends on the connection until it dies or ctx ends, and then gives back
// what has no answer. A sender that is retired ends it once nothing is outstanding.
// It reports whether the broker answered anything.
func (b *broker) serve(ctx context.Context, l *link) (answered bool) {
	defer close(l.ended)
	received := make(chan struct{})
	go func() {
		defer close(received)
		l.receive()
	}()
	// A write that blocks must not hold up the end.
	defer context.AfterFunc(ctx, func() { l.die(errEnded) })()
	for l.dead() == nil && ctx.Err() == nil {
		now := time.Now()
		b.collect(now)
		l.hungry.Store(true) // before it looks for room, so that no answer is missed
		if n := l.answers.Load(); n != b.heard {
			b.heard = n
			b.join()
		}
		ok, until := l.mayWrite(now, b.todo.first() != nil)
		if ok {
			if r := b.build(l, now); r != nil {
				b.stage(l, r, now)
				if b.out.staged < writeBytes {
					continue
				}
			}
			until = b.timers.first()
			l.hungry.Store(b.todo.first() != nil || len(b.joint) > 0)
		}
		if b.out.staged > 0 || l.mayAsk() {
			b.flush(l)
			b.ask(l, now)
			continue
		}
		if b.mayEnd() && l.idle() {
			break
		}
		b.wait(ctx, until)
	}
	l.die(errEnded)
	<-received
	b.pr.log.Info("connection ended", "broker", b.id, "err", l.dead())
	b.out.discard()
	l.reap()
	return l.answers.Load() > 0
}

// build takes batches from the partitions in turn until the request is full or
// nobody has any. It returns nil if there is nothing to send.
func (b *broker) build(l *link, now time.Time) *request {
	o := &b.out
	o.req.Reset()
	clear(o.has)
	o.req.Version = l.version
	limit := int(min(int64(o.limit), b.pr.cfg.MaxInFlightBytes-l.inFlight.Load()))
	r := requestPool.Get().(*request)
	for p := b.todo.first(); p != nil; p = b.todo.first() {
		if len(o.has) > 0 && o.has[p.place()] {
			b.todo.wait()
			continue
		}
		n := p.take(l, now, o.room(limit, p), len(r.attempts) > 0)
		if n.kind == tooBig {
			break // it is the first of the next request
		}
		if n.kind == taken {
			b.todo.drop()
			if b.pr.laned.Load() {
				o.has[p.place()] = true
			}
			o.add(&n.at, l.version, limit)
			r.attempts = append(r.attempts, n.at)
			b.join()
			continue
		}
		b.todo.pass()
		switch n.kind {
		case later:
			b.timers.add(n.when, p)
		case shared:
			b.timers.add(n.when, p)
			b.joint = append(b.joint, p)
		case toAsk:
			l.asking = append(l.asking, question{p, n.number})
		}
	}
	if len(r.attempts) == 0 {
		r.recycle()
		return nil
	}
	for at := range o.has {
		b.todo.next(at)
	}
	for i := range r.attempts {
		b.todo.push(r.attempts[i].p) // it may have more, for the next request
	}
	r.bytes, r.version = int64(o.req.Size()), o.req.Version
	records := 0
	for i := range r.attempts {
		records += r.attempts[i].b.Records()
	}
	r.limit = conn.ProduceLimit(len(r.attempts), records)
	return r
}

// join has those looked at that wait for company.
func (b *broker) join() {
	for _, p := range b.joint {
		b.todo.push(p)
	}
	clear(b.joint)
	b.joint = b.joint[:0]
}

// room is the largest batch of the partition that still fits.
func (o *output) room(limit int, p *partition) int {
	if len(o.req.Topics) == 0 {
		return wire.BatchLimit(limit, o.req.ClientID, p.topic.name)
	}
	const partitionOverhead = 64 // more than any version needs for one more topic and partition
	return limit - o.req.Size() - len(p.topic.name) - partitionOverhead
}

// add puts the attempt into the request, for which room was asked before.
func (o *output) add(at *attempt, version int16, limit int) {
	id := at.p.topic.knownID()
	if version >= 13 && id == ([16]byte{}) {
		o.req.Version = 12 // by name: the request may carry other topics by name, too
	}
	at.topic = id
	part := wire.ProducePartition{Index: at.p.index, Records: at.b.Encoded()}
	if !o.req.Add(at.p.topic.name, id, part, limit) {
		panic("producer: a batch does not fit the room that was made for it")
	}
}

// stage stamps the request and appends it to what is to be written.
func (b *broker) stage(l *link, r *request, now time.Time) {
	o := &b.out
	for _, at := range r.attempts {
		at.b.Stamp(at.send.ProducerID, at.send.Epoch, int32(at.send.Base))
	}
	r.correlationID = l.conn.NextCorrelationID()
	o.req.CorrelationID = r.correlationID
	o.scratch, o.pieces = o.req.AppendTo(o.scratch, o.pieces)
	o.staged += r.bytes
	o.req.Reset()
	l.begin(r, now)
	l.sent = now
}

// flush writes what is staged.
func (b *broker) flush(l *link) {
	o := &b.out
	if o.staged == 0 {
		return
	}
	n, err := l.conn.Write(o.pieces)
	o.discard()
	b.pr.stats.requests.Add(int64(l.wrote(n)))
	if err != nil {
		l.die(err)
	}
}

// discard forgets what is staged.
func (o *output) discard() {
	clear(o.pieces)
	o.scratch, o.pieces, o.staged = o.scratch[:0], o.pieces[:0], 0
}
