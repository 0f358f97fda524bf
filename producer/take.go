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
	when   time.Time // later, shared: look again then
	number uint64    // toAsk: of the question
}

type nextKind uint8

const (
	nothing nextKind = iota // until something happens
	later                   // until a time
	shared                  // likewise, but an answer or a request of others takes it along
	toAsk                   // once the broker has said what it knows
	tooBig                  // not in this request any more
	taken                   // an attempt, committed
)

// take looks for a batch to send on connection l, in a request that has room
// for so many bytes. Joins says that the request goes out anyway.
func (p *partition) take(l *link, now time.Time, room int, joins bool) next {
	p.mu.Lock()
	var fx effects
	n := p.takeLocked(l, now, room, joins, &fx)
	p.publish()
	p.mu.Unlock()
	p.do(fx)
	return n
}

func (p *partition) takeLocked(l *link, now time.Time, room int, joins bool, fx *effects) next {
	if p.target != l.broker {
		fx.enqueue = p.target
		return next{}
	}
	p.clock.hurry()
	if err := p.topic.lane.Err(); err != nil && p.fatal == nil {
		p.fatal = err // the partition was being made when the lane failed
	}
	if p.needsCalm(now) {
		p.settleDown(fx, now)
	}
	if p.pending.rest {
		return next{} // the encoders will say so
	}
	if p.head() == nil || p.fatal != nil || !p.bind(l, now) || p.waitsForWord() || !p.fresh(l, now, fx) {
		return next{}
	}
	if end, on := p.pause.Until(now); on {
		return next{kind: later, when: end}
	}
	if p.asks(l, now) {
		return next{kind: toAsk, number: p.inquiry.number}
	}
	if kind, when := p.sealIfDue(l, now, joins); kind != nothing {
		return next{kind: kind, when: when}
	}
	send, hold := p.win.Peek()
	p.noteHold(hold, now)
	if hold != throttle.Ready {
		return next{}
	}
	if p.shared && p.win.AtGate() && !p.inquiry.assured {
		return p.askFirst(l, now, fx)
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
		p.gauge.done.resends.Add(1)
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
		if q := &p.inquiry; q.on != nil {
			q.failed++ // what a connection dies of is no answer either
		} else {
			q.failed = 0
		}
		if q := &p.inquiry; q.on != nil || q.assured {
			// The answer was lost, or was another broker's.
			q.on, q.assured, q.wanted = nil, false, true
		}
		// What brokers hung up on twice may be what they die of. It waits, so
		// that others get through before it does it again (K24).
		if p.head().hangUps > 1 {
			p.pauseUntil(now)
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
		p.carryOn(position{epoch: id.epoch, offset: -1}, id)
	} else if p.win.SetProducer(id.producerID, id.epoch) {
		p.ident = id
	}
	return true
}

// leader is who answers on the connection, as far as we know: metadata is behind.
func (p *partition) leader() flight.Leader {
	if p.link == nil {
		return flight.NoLeader
	}
	return flight.Leader{Broker: p.link.broker.id, Epoch: p.leaderEpoch}
}

// fresh arms the gate again where the broker may have forgotten the producer:
// after a pause, and behind records with old timestamps, by which a broker
// judges the age of its knowledge (KIP-854, protocol rule R7). What is in doubt
// by then must not be sent again, unless the broker just said that it knows us:
// one that forgot would take it for new. Fresh reports whether sending, or
// asking, may go on.
func (p *partition) fresh(l *link, now time.Time, fx *effects) bool {
	if p.remembered(now) || p.inquiry.assured {
		return true
	}
	if !p.win.Regate() {
		return false
	}
	if p.shared {
		p.win.StateMayBeGone() // some broker may have forgotten what the others have not
	}
	if p.mayAsk(l) {
		p.inquiry.wanted = true
		return true
	}
	p.stateGone(ErrStateLost, fx)
	return p.head() != nil
}

// remembered reports whether the broker surely has not forgotten us yet.
func (p *partition) remembered(now time.Time) bool {
	holds, cautious := p.memory.Holds(p, p.win.InDoubt(), p.topic.lane.sharing(), now)
	p.win.Caution(cautious)
	return holds
}

// sealIfDue seals the open batch if the window has nothing else to send, would
// take it now, and it has waited long enough for company. If it has not, the
// time is returned at which it will have.
func (p *partition) sealIfDue(l *link, now time.Time, joins bool) (kind nextKind, when time.Time) {
	b := p.open
	if b == nil || p.win.Pending() || p.win.Room(int32(b.Records())) != throttle.Ready {
		return nothing, when
	}
	linger := p.pr.cfg.Linger
	urgent := b.urgent || p.pr.hurry.Load() > 0
	if full := b.Bytes() >= p.pr.cfg.BatchBytes; !full && !(joins && (urgent || linger == 0)) {
		if when = l.due(b, linger, urgent); now.Before(when) {
			if urgent || linger == 0 {
				return shared, when
			}
			return later, when
		}
	}
	p.seal()
	return nothing, when
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
