package producer

import (
	"errors"
	"time"

	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// answer is what came back for one attempt.
type answer struct {
	flight.Answer
	appendTime int64 // -1: records keep their timestamps
	message    string
	err        error
}

// settle takes the answer to an attempt. What becomes of the batch is decided in
// package flight; here it is done.
func (p *partition) settle(at attempt, a answer, now time.Time) {
	p.mu.Lock()
	var fx effects
	b := p.sealed.all()[at.batch-p.base]
	head := at.batch == p.base
	v := flight.Judge(a.Answer, b.Tries)
	b.Answered(v)
	if err := a.reason(); err != nil {
		b.lastErr = err
	}
	if b.Large && b.Records() == 1 {
		b.lastErr = because(ErrRecordTooLarge, b.lastErr)
	}
	p.pending.forgotten = p.pending.forgotten || v.Gone
	if v.GivesUp(head) {
		p.pending.giveUp = b.lastErr
	}
	r := p.win.Settle(at.batch, v.Attempt, a.BaseOffset)
	p.count(v.Attempt)
	if r.Stalled && p.open != nil {
		p.seal() // the next replay may need a new batch that proves the others
	}
	if r.Written.Len() > 0 {
		p.own.Succeeded(&b.History, a.appendTime, b.MaxTimestamp(), now)
	}
	p.resolveAt(r, a.appendTime, &fx)
	p.own.Doubtful(r)
	if v.Fenced && p.fatal == nil {
		p.fatal, fx.fenced = ErrSecondOwner, true
	}
	if p.shared && v.Attempt == throttle.Refused && head {
		p.refusedForGood(b, &fx)
	}
	if v.Pauses(r, p.link != nil && p.link.broker != p.target) {
		p.own.Wait(now)
	}
	fx.refresh = v.Refreshes(r)
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

// reason is why the attempt brought nothing, nil for a success.
func (a *answer) reason() error {
	switch {
	case a.Unsent, a.Missing:
		return a.err
	case a.Code == retry.None:
		return nil
	case a.message != "":
		return because(a.Code, errors.New(a.message))
	}
	return a.Code
}

func (p *partition) count(a throttle.Answer) {
	switch a {
	case throttle.Duplicate:
		p.pr.stats.duplicates.Add(1)
	case throttle.OutOfOrder:
		p.pr.stats.outOfOrder.Add(1)
	}
}

// headRefused splits the oldest batch or gives it up; its neighbours go on.
func (p *partition) headRefused(fx *effects) {
	b := p.sealed.first()
	n := int32(b.Records())
	if left, ok := flight.Halve(n); b.Large && ok {
		p.win.Split(left, n-left)
		p.replaceHead(b.splitAt(int(left)))
		return
	}
	p.resolve(p.win.Drop(), fx)
}

// refusedForGood is headRefused for a lane: where it ends, or goes on in the same
// epoch.
func (p *partition) refusedForGood(b *batch, fx *effects) {
	if b.Large && b.Records() > 1 {
		p.pending.recut = true
	} else {
		p.stopFor(b.lastErr, fx)
	}
}

// replaceHead puts two batches in the place of the oldest.
func (p *partition) replaceHead(left, right *batch) {
	p.own.Memory.Resolved(&p.sealed.first().History)
	for _, b := range []*batch{left, right} {
		p.own.Memory.Note(&b.History, b.oldest, b.MaxTimestamp(), time.Now())
	}
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
		p.blame(ErrTopicRecreated)
		p.resolve(p.win.NewLog(), fx)
		if p.shared {
			p.stopFor(ErrTopicRecreated, fx)
		}
	case pd.forgotten:
		var e flight.Effects
		p.fx = fx
		p.own.StateGone(flight.StateLost, &e)
		p.fx = nil
		p.carry(e, fx)
	case pd.recut && p.sealed.len() > 0 && p.sealed.first().Large && p.sealed.first().Records() > 1: // else it is there meanwhile
		p.own.Recut(int32(p.sealed.first().Records()+1) / 2)
	case pd.giveUp != nil:
		p.giveUpHead(fx, pd.giveUp)
	}
	p.pending = pending{}
	for p.due(now) {
		p.own.Abandon()
		p.giveUpHead(fx, because(ErrDeliveryTimeout, p.lastError()))
	}
	if p.link != nil && p.link.broker != p.target {
		p.win.Unbind()
		p.own.Left()
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

// lastError is the best reason known for why the head did not get through.
func (p *partition) lastError() error {
	if err := p.head().lastErr; err != nil {
		return err
	}
	if p.target == nil {
		return retry.LeaderNotAvailable
	}
	return p.target.lastError()
}

// blame notes a reason with everything that was sent, by whomever.
func (p *partition) blame(err error) {
	for _, b := range p.sealed.all() {
		if b.Attempts > 0 || p.shared {
			b.lastErr = because(err, b.lastErr)
		}
	}
}

// giveUpHead resolves the oldest batch, and with it everything in doubt.
func (p *partition) giveUpHead(fx *effects, err error) {
	if p.sealed.len() == 0 {
		if p.open == nil {
			return
		}
		p.shutBatch()
	}
	if p.win.InDoubt() {
		p.blame(err)
	} else {
		p.sealed.first().lastErr = err
	}
	p.resolve(p.win.Expire(), fx)
}

// giveUpAll resolves everything with the fatal error.
func (p *partition) giveUpAll(fx *effects) {
	if p.open != nil {
		p.shutBatch()
	}
	for _, b := range p.sealed.all() {
		b.lastErr = because(p.fatal, b.lastErr)
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
				b.lastErr = because(ErrStateLost, b.lastErr)
			}
		case r.Written.Has(i):
			if i == r.Written.To-1 {
				offset = r.LastOffset
				if b.Attempts == 1 || appendTime != b.MaxTimestamp() {
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
			Topic: p.topic.name, Partition: p.index, Outcome: res.outcome, Attempts: b.Attempts, Err: b.lastErr,
		}
	}
	p.advance(b, res.err, res.offset)
	fx.failed = fx.failed || p.gap != nil
	p.passMarks()
	p.own.Memory.Resolved(&b.History)
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
