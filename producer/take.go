package producer

import (
	"time"

	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/throttle"
)

// attempt is one batch in one request.
type attempt struct {
	p     *partition
	b     *batch
	batch uint64 // its number in the window
	send  throttle.Send
	topic [16]byte // id of the topic at the time of the request (KAFKA-19397)
	size  int
	done  bool // answered
}

// next is what a sender finds when it looks at a partition.
type next struct {
	at     attempt
	kind   nextKind
	when   time.Time // later: look again then
	number uint64    // toAsk: of the question
}

type nextKind uint8

const (
	nothing nextKind = iota // until something happens
	later                   // until a time
	toAsk                   // once the broker has said what it knows
	tooBig                  // not in this request any more
	taken                   // an attempt, committed
)

// take looks for a batch to send on connection l, in a request that has room
// for so many bytes.
func (p *partition) take(l *link, now time.Time, room int) next {
	p.mu.Lock()
	n := p.takeLocked(l, now, room)
	p.unlock()
	return n
}

func (p *partition) takeLocked(l *link, now time.Time, room int) next {
	if p.target != l.broker {
		p.fx.enqueue = p.target
		return next{}
	}
	p.clock.hurry()
	if err := p.topic.lane.Err(); err != nil && p.fatal == nil {
		p.halt(err) // the partition was being made when the lane failed
	}
	if p.own.NeedsCalm(now) {
		p.settleDown(now)
	}
	if p.own.AwaitsEncoders() {
		return next{} // the encoders will say so
	}
	if p.head() == nil || p.fatal != nil || !p.bind(l, now) || p.own.Waits() || !p.fresh(l, now) {
		return next{}
	}
	if end, on := p.own.Pause.Until(now); on {
		return next{kind: later, when: end}
	}
	if number, ok := p.own.Asks(p.offers(l, now), now); ok {
		return next{kind: toAsk, number: number}
	}
	if when := p.sealIfDue(l, now); !when.IsZero() {
		return next{kind: later, when: when}
	}
	send, hold := p.win.Peek()
	p.noteHold(hold, now)
	if hold != throttle.Ready {
		return next{}
	}
	if n, asks := p.asksFirst(l, now); asks {
		return n
	}
	b := p.sealed.all()[send.Batch-p.base]
	if p.encode(b); !b.encoded {
		return next{} // the encoders will say so
	}
	if b.Bytes() > room {
		return next{kind: tooBig}
	}
	p.win.Commit()
	b.epoch, b.base = send.Epoch, send.Base
	if b.Sent(now); b.Attempts > 1 {
		p.pr.stats.resends.Add(1)
	}
	return next{kind: taken, at: attempt{p: p, b: b, batch: send.Batch, send: send, size: b.Bytes()}}
}

// bind ties the partition to the connection, and gives the window a producer
// ID. A partition uses one connection at a time.
func (p *partition) bind(l *link, now time.Time) bool {
	if p.link != l {
		if p.win.Outstanding() > 0 {
			return false // the old connection is dying; it will say what was lost
		}
		p.link = l
		p.win.Bind(l.limits)
		if p.open != nil {
			p.open.most = p.mostRecords()
		}
		p.own.Bound()
		// What brokers hung up on twice may be what they die of. It waits, so
		// that others get through before it does it again (K24).
		if p.head().hangUps > 1 {
			p.own.Wait(now)
		}
	}
	id := p.topic.lane.identity.Load()
	if id == nil {
		return false // control is asking for the first one, and will nudge
	}
	if p.ident == id {
		return true
	}
	if p.ident != nil && (p.shared || !p.win.Calm()) {
		return true // not now: a straggler would not be fenced by another ID
	}
	if !p.win.Regate() {
		return false
	}
	if p.shared {
		p.carryOn(flight.Position{Epoch: id.epoch, Offset: -1}, id)
	} else if p.win.SetProducer(id.producerID, id.epoch) {
		p.ident = id
	}
	return true
}

// fresh asks the owner whether the broker may have forgotten the producer.
func (p *partition) fresh(l *link, now time.Time) bool {
	var e flight.Effects
	goOn := p.own.Fresh(p.offers(l, now), now, &e)
	p.carry(e)
	return goOn && p.head() != nil
}

// asksFirst is for lanes, which ask before each write from the gate.
func (p *partition) asksFirst(l *link, now time.Time) (n next, asks bool) {
	number, ok, writes := p.own.AsksFirst(p.offers(l, now), now)
	if ok {
		n = next{kind: toAsk, number: number}
	}
	return n, !writes
}

// sealIfDue seals the open batch if the window has nothing else to send, would
// take it now, and it has waited long enough for company. If it has not, the
// time is returned at which it will have.
func (p *partition) sealIfDue(l *link, now time.Time) (when time.Time) {
	b := p.open
	if b == nil || p.win.Pending() || p.win.Room(int32(b.Records())) != throttle.Ready {
		return time.Time{}
	}
	due := l.due(b.created, p.pr.cfg.Linger)
	full := b.Bytes() >= p.pr.cfg.BatchBytes
	if !full && !b.urgent && p.pr.hurry.Load() == 0 && now.Before(due) {
		return due
	}
	p.seal()
	return time.Time{}
}

// noteHold measures how long the window holds back what is ready to go.
func (p *partition) noteHold(h throttle.Hold, now time.Time) {
	held := h == throttle.HoldSequences || h == throttle.HoldBatches
	switch {
	case held && p.heldFrom.IsZero():
		p.heldFrom = now
		p.pr.stats.throttled.Add(1)
	case !held && !p.heldFrom.IsZero():
		p.pr.stats.throttledTime.Add(int64(now.Sub(p.heldFrom)))
		p.heldFrom = time.Time{}
	}
	p.gauge.hold.Store(uint32(h))
}
