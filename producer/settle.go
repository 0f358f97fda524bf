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
	b := p.sealed.all()[at.batch-p.base]
	v := flight.Judge(a.Answer, b.Tries)
	if err := a.reason(); err != nil {
		b.lastErr = err
	}
	if v.Large && b.Records() == 1 {
		b.lastErr = because(ErrRecordTooLarge, b.lastErr)
	}
	p.count(v.Attempt)
	var e flight.Effects
	p.appendTime = a.appendTime
	p.own.Settle(at.batch, &b.History, v, a.BaseOffset, a.appendTime, b.MaxTimestamp(), now, &e)
	p.appendTime = -1
	p.carry(e)
	if e.Stalled && p.open != nil {
		p.seal()
	}
	if p.head() != nil {
		p.fx.enqueue = p.target
	}
	p.unlock()
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

// settleDown does what had to wait until nothing is outstanding.
func (p *partition) settleDown(now time.Time) {
	var e flight.Effects
	p.own.SettleDown(now, &e)
	p.carry(e)
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

// resolve takes the resolved batches out of the window's books and makes
// their memory free; the callbacks come later, on the delivery goroutine.
func (p *partition) resolve(r throttle.Resolution) {
	if r.Alarm != throttle.NoAlarm {
		p.fx.alarm = r.Alarm
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
				if b.Attempts == 1 || p.appendTime != b.MaxTimestamp() {
					res.appendTime = p.appendTime // else the one that answers to duplicates carry, whatever the topic does
				}
			}
			res.outcome, res.offset = Written, offset
			if offset >= 0 {
				offset += int64(b.Records())
			}
		default:
			return
		}
		p.pop(res)
	}
}

func (p *partition) pop(res resolved) {
	fx := &p.fx
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
