package producer

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// hearOfOthers acts on the broker's entry where other processes may have
// written the same records, or still write.
func (p *partition) hearOfOthers(e inspect.Entry, report throttle.Report, now time.Time, fx *effects) {
	if p.open != nil && p.sealed.len() == 0 {
		// The answer is about this batch. One that is in the log must not be sent:
		// a broker that forgets the lane in between would take it for new.
		p.shutBatch()
	}
	epoch := int32(p.win.State().Epoch)
	if p.pos.next == 0 && e.Epoch < epoch {
		report.Known = false // of this lane it knows nothing
	}
	read := p.memory.JustRead(p.leader(), p.inquiry.put)
	report.Remembers = !report.Known && (read || p.showsAll(now))
	found := p.win.Hear(report)
	if p.passes(found) && p.encoding > 0 {
		// What is passed over is resolved without being sent; not while someone
		// compresses it.
		p.inquiry.wanted, p.pending.rest = true, true
		return
	}
	if _, ahead := p.aheadInLog(); ahead && !report.Known {
		p.passKnown(fx)
		return // the batches behind are looked at next
	}
	if found == throttle.FoundInside {
		p.recut(p.win.Inside(throttle.Sequence(e.Last)))
		found = p.win.Hear(report)
	}
	if found != throttle.FoundGone && p.suspects(found, now, fx) {
		return
	}
	switch found {
	case throttle.FoundNothing, throttle.FoundPlace:
		p.inquiry.clear = found == throttle.FoundNothing
		p.inquiry.assured = report.Remembers && report.Current || report.Known && e.Epoch == epoch
		if !p.inquiry.assured {
			fx.refresh = true // who says so is no leader
			p.pauseUntil(now)
		}
	case throttle.FoundGone:
		fx.audit = p.newAudit(readChain)
		fx.audit.chain.Next = max(p.memory.End(), p.behind)
		p.inquiry.reading = fx.audit
	case throttle.FoundAhead:
		fx.audit = p.newAudit(proveEntry)
		p.inquiry.reading = fx.audit
	case throttle.FoundLoss:
		p.stopFor(ErrDataLoss, fx)
	default:
		fx.fenced = true
		p.stopFor(ErrSecondOwner, fx)
	}
}

// passes reports whether acting on a finding resolves batches that were not sent.
func (p *partition) passes(found throttle.Finding) bool {
	_, ahead := p.aheadInLog()
	return ahead || found != throttle.FoundNothing && found != throttle.FoundGone
}

// aheadInLog reports whether the log is known to hold more of the lane than is
// resolved here, and up to which sequence.
func (p *partition) aheadInLog() (last throttle.Sequence, ahead bool) {
	return p.memory.Ahead(p.win.Una())
}

// passKnown resolves what the log is known to hold.
func (p *partition) passKnown(fx *effects) {
	if p.open != nil {
		p.shutBatch() // it is compressed if some of it has to be sent
	}
	last, _ := p.aheadInLog()
	p.resolve(p.win.ReadUpTo(last), fx)
	if left := p.win.Inside(last); left > 0 {
		p.recut(left)
		p.resolve(p.win.ReadUpTo(last), fx)
	}
}

func (p *partition) newAudit(kind auditKind) *audit {
	b := p.link.broker
	return &audit{
		kind: kind, p: p, topicID: p.topic.knownID(), addr: b.addr.Load(), leader: p.leader(),
		producerID: p.ident.producerID, asked: p.inquiry.put.Add(-flight.ZombieSpan),
	}
}

// stopFor stops the lane, which cannot go on without a guess. From here on the
// partition sends nothing more; the others hear of it once the lock is free.
func (p *partition) stopFor(why error, fx *effects) {
	l := p.topic.lane
	l.broke(fmt.Errorf("%q partition %d: %w", p.topic.name, p.index, why))
	if p.fatal == nil {
		p.fatal = l.Err()
	}
	fx.failed = true
}

// recut cuts the oldest batch in two, where a former process ended.
func (p *partition) recut(left int32) {
	p.win.Recut(left)
	p.replaceHead(p.sealed.first().splitAt(int(left)))
}

// proved takes what is proved to be replicated of what a former process wrote.
func (p *partition) proved(x *audit, e inspect.Entry, err error, fx *effects, now time.Time) {
	switch {
	case p.encoding > 0:
		p.inquiry.wanted, p.pending.rest = true, true
	case err == nil && e.Known && e.Epoch == int32(p.win.State().Epoch):
		p.memory.AnsweredBy(x.leader)
		p.resolve(p.win.ReadUpTo(throttle.Sequence(e.Last)), fx)
	default:
		p.notRead(err, fx, now)
	}
}

// notRead is for a reading that brought nothing: it is tried again.
func (p *partition) notRead(err error, fx *effects, now time.Time) {
	if errors.Is(err, retry.TopicAuthorizationFailed) {
		p.topic.closedToUs.Store(now)
		return
	}
	fx.refresh = true
	p.pauseUntil(now)
}

// chainRead takes how far the lane is in the log, where the leader does not know
// it. After that the leader's ignorance proves that there is nothing more.
func (p *partition) chainRead(x *audit, c inspect.Chain, err error, fx *effects, now time.Time) {
	switch {
	case errors.Is(err, inspect.ErrDeleted), errors.Is(err, errors.ErrUnsupported):
		p.stopFor(because(ErrStateLost, err), fx)
		return
	case errors.Is(err, inspect.ErrTruncated):
		if !p.lookAgain(now, fx) {
			p.stopFor(because(ErrDataLoss, err), fx)
		}
		return
	case err == nil && c.Known && c.Epoch > int32(p.win.State().Epoch):
		fx.fenced = true
		p.stopFor(ErrSecondOwner, fx)
		return
	}
	if c.Known && c.Epoch == int32(p.win.State().Epoch) {
		p.memory.Saw(throttle.Sequence(c.Last), throttle.Sequence(p.pos.next))
	}
	p.memory.ReadTo(c.Next)
	p.inquiry.wanted = true
	if err != nil {
		p.notRead(err, fx, now)
		return
	}
	p.memory.ReadToEnd(x.leader, x.asked, now)
}

// askFirst is before each write from the gate, when it counts how far a former
// process came.
func (p *partition) askFirst(l *link, now time.Time, fx *effects) next {
	p.inquiry.wanted = true
	if p.asks(l, now) {
		return next{kind: toAsk, number: p.inquiry.number}
	}
	p.stopFor(ErrCannotAsk, fx)
	return next{}
}
