package producer

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// answer is what came back for one attempt.
type answer struct {
	code       retry.Code
	baseOffset int64
	appendTime int64 // -1: records keep their timestamps
	message    string
	missing    bool // the response left the partition out (K31)
	unsent     bool // no byte of the request was written
	err        error
}

// settle takes the answer to an attempt. Here, and nowhere else, it is decided
// what happens to the batch.
func (p *partition) settle(at attempt, a answer, now time.Time) {
	p.mu.Lock()
	var fx effects
	b := p.sealed.all()[at.batch-p.base]
	d := a.decide()
	if d.Fate != retry.Committed && a.err != nil {
		b.trouble = b.trouble.and(a.err, now)
		p.trouble = b.trouble
	}
	if b.large = d.Split; b.large && b.Records() == 1 {
		b.trouble = b.trouble.ended(ErrRecordTooLarge)
	}
	outcome := p.answerOf(b, d, at.batch == p.base)
	b.maybe = b.maybe || outcome == throttle.Uncertain || outcome == throttle.Duplicate
	r := p.win.Settle(at.batch, outcome, p.possible(b, a.baseOffset, &fx))
	p.count(outcome)
	if r.Stalled && p.open != nil {
		p.seal() // the next replay may need a new batch that proves the others
	}
	if r.Written.Len() > 0 {
		p.anchored(b, a.appendTime, now)
		p.backoff.Reset()
		p.retryAt, p.trouble = time.Time{}, nil
	}
	p.resolveAt(r, a.appendTime, &fx)
	p.doubtful(r)
	if d.Stop && p.fatal == nil {
		p.fatal, fx.fenced = ErrSecondOwner, true
	}
	if p.shared && outcome == throttle.Refused && at.batch == p.base {
		p.refusedForGood(b, &fx)
	}
	// What the old leader still has to say is no reason to keep the new one
	// waiting (KIP-951).
	if moving := p.link != nil && p.link.broker != p.target; (d.Backoff || r.Stalled) && !moving {
		p.pauseUntil(now)
	}
	fx.refresh = d.Refresh || r.Stalled
	if r.HeadRefused {
		p.headRefused(&fx)
	}
	p.settleDown(&fx, now)
	if p.head() != nil {
		fx.enqueue = p.target
	}
	p.mu.Unlock()
	p.do(fx)
}

// anchored notes a success, and whose timestamps the log of the topic has. An
// answer to a duplicate carries one either way.
func (p *partition) anchored(b *batch, appendTime int64, now time.Time) {
	switch {
	case appendTime < 0:
		p.brokersTime = false
	case !p.shared && b.attempts == 1:
		p.brokersTime = true
	case p.shared && b.old && p.pr.remembered(time.UnixMilli(appendTime), now):
		// Of a batch that another owner wrote the answer carries the timestamp
		// that it has there, which is as old.
		p.brokersTime = true
	}
	p.verifiedBySuccess()
	p.anchor = anchor{acked: now, recorded: now}
	if p.link != nil {
		p.acked = acked{p.link.broker.id, p.leaderEpoch}
	}
	if !p.brokersTime {
		p.anchor.recorded = time.UnixMilli(b.MaxTimestamp())
	}
}

// decide turns an answer into what it says about the attempt.
func (a *answer) decide() retry.Decision {
	switch {
	case a.unsent:
		return retry.Lost(0)
	case a.missing:
		return retry.Lost(-1)
	}
	d := retry.Classify(a.code, a.baseOffset)
	if a.code != retry.None {
		a.err = a.code
		if a.message != "" {
			a.err = because(a.code, errors.New(a.message))
		}
	}
	return d
}

// answerOf translates for the window, which knows nothing of codes.
func (p *partition) answerOf(b *batch, d retry.Decision, head bool) throttle.Answer {
	tries, fate, enough := d.Count(b.tries)
	b.tries = tries
	p.pending.forgotten = p.pending.forgotten || d.Gone
	switch fate {
	case retry.Committed:
		return throttle.Success
	case retry.Duplicate:
		return throttle.Duplicate
	case retry.OutOfOrder:
		return throttle.OutOfOrder
	case retry.Refused:
		return throttle.Refused
	case retry.NotAppended, retry.Forgotten, retry.Fenced:
		return throttle.NotAppended
	}
	if enough && head { // one behind it gets another try, once it is the head
		p.pending.giveUp = b.trouble.cause()
	}
	return throttle.Uncertain
}

func (p *partition) count(a throttle.Answer) {
	switch a {
	case throttle.Duplicate:
		p.pr.stats.duplicates.Add(1)
	case throttle.OutOfOrder:
		p.pr.stats.outOfOrder.Add(1)
	}
}

// pauseUntil sets the time before which nothing is sent again. The answers to
// what was pipelined behind a failure do not lengthen it.
func (p *partition) pauseUntil(now time.Time) {
	if !p.retryAt.After(now) {
		p.retryAt = now.Add(p.backoff.Next(rand.Float64()))
	}
}

// headRefused splits the oldest batch or gives it up; its neighbours go on.
func (p *partition) headRefused(fx *effects) {
	b := p.sealed.first()
	p.trouble = nil // it was that of this batch
	if n := b.Records(); b.large && n > 1 {
		half := (n + 1) / 2
		p.win.Split(int32(half), int32(n-half))
		p.replaceHead(b.splitAt(half))
		return
	}
	p.resolve(p.win.Drop(), fx)
}

// refusedForGood is headRefused for a lane: where it ends, or goes on in the same
// epoch.
func (p *partition) refusedForGood(b *batch, fx *effects) {
	if b.large && b.Records() > 1 {
		p.pending.recut = true
	} else {
		p.stopFor(b.trouble, fx)
	}
}

// replaceHead puts two batches in the place of the oldest.
func (p *partition) replaceHead(left, right *batch) {
	if p.sealed.first().old {
		p.old--
	}
	p.noteAge(left)
	p.noteAge(right)
	p.sealed.replace(append([]*batch{left, right}, p.sealed.all()[1:]...))
}

// settleDown does what had to wait until nothing is outstanding, and no batch
// is with the encoder. It may be called at any time.
func (p *partition) settleDown(fx *effects, now time.Time) {
	defer p.publish()
	p.resting = p.needsCalm(now)
	if p.resting && !p.win.Regate() {
		return
	}
	if p.win.Outstanding() > 0 || p.encoding > 0 {
		return
	}
	p.resting = false
	switch pd := &p.pending; {
	case p.fatal != nil:
		p.giveUpAll(fx)
	case pd.newLog:
		p.condemn(ErrTopicRecreated)
		p.resolve(p.win.NewLog(), fx)
		if p.shared {
			p.stopFor(ErrTopicRecreated, fx)
		}
	case pd.forgotten:
		p.stateGone(ErrStateLost, fx)
	case pd.recut && p.sealed.len() > 0 && p.sealed.first().large && p.sealed.first().Records() > 1: // else it is there meanwhile
		p.recut(int32(p.sealed.first().Records()+1) / 2)
	case pd.giveUp != nil:
		p.giveUpHead(fx, pd.giveUp)
	}
	p.pending = pending{}
	for p.due(now) {
		p.inquiry = inquiry{}
		p.giveUpHead(fx, ErrDeliveryTimeout)
	}
	if p.link != nil && p.link.broker != p.target {
		p.win.Unbind()
		p.link = nil
		fx.enqueue = p.target
	}
	if p.win.NeedsProducerID() && !p.shared && p.ident == p.topic.lane.identity.Load() {
		fx.renew = true
	}
}

func (p *partition) needsCalm(now time.Time) bool {
	return p.pending != (pending{}) || p.fatal != nil || p.due(now) || p.link != nil && p.link.broker != p.target
}

// giveUpHead resolves the oldest batch, and with it everything in doubt.
func (p *partition) giveUpHead(fx *effects, verdict error) {
	if p.sealed.len() == 0 {
		if p.open == nil {
			return
		}
		p.shutBatch()
	}
	if p.win.InDoubt() {
		p.condemn(verdict)
	} else {
		b := p.sealed.first()
		b.trouble = b.trouble.sentenced(verdict, p.inFull(verdict))
	}
	p.resolve(p.win.Expire(), fx)
}

// giveUpAll resolves everything with the fatal error.
func (p *partition) giveUpAll(fx *effects) {
	if p.open != nil {
		p.shutBatch()
	}
	for _, b := range p.sealed.all() {
		b.trouble = b.trouble.ended(p.fatal)
	}
	if errors.Is(p.fatal, ErrSecondOwner) {
		p.resolve(p.win.Fence(), fx)
	} else {
		p.resolve(p.win.Abort(), fx)
	}
}

func (p *partition) resolve(r throttle.Resolution, fx *effects) { p.resolveAt(r, -1, fx) }

// resolveAt takes the resolved batches out of the window's books and makes
// their memory free; the callbacks come later, on the delivery goroutine.
func (p *partition) resolveAt(r throttle.Resolution, appendTime int64, fx *effects) {
	if r.Alarm != throttle.NoAlarm {
		fx.alarm = r.Alarm
	}
	offset := r.FirstOffset
	for p.sealed.len() > 0 {
		b := p.sealed.first()
		res := resolved{b: b, offset: -1, appendTime: -1}
		switch i := p.base; {
		case r.NotWritten.Has(i):
			res.outcome = NotWritten
		case r.Unknown.Has(i):
			res.outcome = Unknown
			if r.Alarm == throttle.AlarmGap {
				b.trouble = b.trouble.ended(ErrStateLost)
			}
		case r.Written.Has(i):
			if i == r.Written.To-1 {
				offset = r.LastOffset
				if b.attempts == 1 || appendTime != b.MaxTimestamp() {
					res.appendTime = appendTime // else the one that answers to duplicates carry, whatever the topic does
				}
			}
			res.outcome, res.offset = Written, offset
			if offset >= 0 {
				offset += int64(b.Records())
			}
		default:
			return
		}
		p.pop(res, fx)
	}
}

func (p *partition) pop(res resolved, fx *effects) {
	b := res.b
	if res.outcome != Written {
		res.err = &RecordError{
			Topic: p.topic.name, Partition: p.index, Outcome: res.outcome, Attempts: b.attempts, Err: b.trouble,
			over: p.shared,
		}
	}
	p.advance(b, res.err, res.offset)
	fx.failed = fx.failed || p.gap != nil
	p.passMarks()
	if b.old {
		p.old--
	}
	p.pr.stats.outcome(res.outcome, b.Records())
	p.pr.delivery.behind.Add(int64(b.Records()))
	p.held -= b.cost
	b.release()
	p.sealed.pop()
	p.gauge.unresolved.Store(int32(p.sealed.len()))
	p.base++
	fx.share, fx.free = p.share, fx.free+b.cost+p.spare()
	p.resolved.push(res)
	if !p.delivering {
		p.delivering, fx.deliver = true, true
	}
}
