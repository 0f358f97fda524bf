package producer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// asker puts the questions whose answers are large, for there are many producers in
// a partition, on a connection of its own: nobody's records wait behind them. It asks
// one after the other, and has a goroutine while there are any.
type asker struct {
	a    *auditor
	b    *broker
	came []elsewhere // under the auditor's lock

	// Of its goroutine alone:
	todo []elsewhere
	conn *conn.Conn // nil: none
}

// elsewhere are questions that were to be put on a link.
type elsewhere struct {
	l         *link
	questions []question
}

// describe takes questions, and keeps nothing of the slice. Each is heard, whatever
// becomes of the link, unless its partition has moved.
func (a *auditor) describe(l *link, questions []question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return
	}
	x := a.askers[l.broker]
	if x == nil {
		x = &asker{a: a, b: l.broker}
		a.askers[l.broker] = x
		a.ended.Go(x.run)
	}
	x.came = append(x.came, elsewhere{l, slices.Clone(questions)})
}

func (x *asker) run() {
	defer x.hangUp()
	for x.next() {
		size, _ := x.b.portion.Next()
		first := &x.todo[0]
		q, some, rest := portion(first.questions, size, nil)
		l := first.l
		if first.questions = rest; len(rest) == 0 {
			x.todo = x.todo[1:]
		}
		answer, err := x.ask(q)
		if err != nil {
			x.a.pr.log.Warn("cannot ask for the state of producers", "broker", x.b.id, "partitions", q.Places(), "err", err)
			x.hangUp()
		}
		for _, one := range some {
			one.p.heard(l, one.number, answer, time.Now())
		}
	}
}

// next reports whether there are questions, without those of partitions that moved:
// they ask again once they are bound to another connection.
func (x *asker) next() bool {
	for {
		x.take()
		for len(x.todo) > 0 {
			first := &x.todo[0]
			first.questions = slices.DeleteFunc(first.questions, func(q question) bool { return !q.p.awaits(first.l, q.number) })
			if len(first.questions) > 0 {
				return true
			}
			x.todo = x.todo[1:]
		}
		if x.over() {
			return false
		}
	}
}

// take takes what came.
func (x *asker) take() {
	x.a.mu.Lock()
	defer x.a.mu.Unlock()
	x.todo, x.came = append(x.todo, x.came...), nil
	if x.a.ctx.Err() != nil {
		x.todo = nil
	}
}

// over reports whether nothing came meanwhile: then it is at its end.
func (x *asker) over() bool {
	x.a.mu.Lock()
	defer x.a.mu.Unlock()
	if len(x.came) > 0 && x.a.ctx.Err() == nil {
		return false
	}
	delete(x.a.askers, x.b)
	return true
}

// ask has no end as long as its answer comes, however large it is.
func (x *asker) ask(q *inspect.Question) (answer *inspect.Answer, err error) {
	if err := x.connect(); err != nil {
		return nil, err
	}
	ctx, cancel := x.conn.WhileMoving(x.a.ctx, x.a.pr.cfg.RequestTimeout)
	defer cancel()
	err = x.conn.DoEach(ctx, []kmsg.Request{q.Request()}, func(_ int, resp kmsg.Response) { answer = resp.(*inspect.Answer) })
	if errors.Is(err, conn.ErrTooLarge) {
		x.b.portion.Refused(q.Places(), conn.Limit(q.Request()))
	}
	if err != nil {
		return nil, err
	}
	x.a.pr.stats.questions.Add(1)
	x.b.portion.Learn(q.Places(), answer.Size())
	return answer, nil
}

func (x *asker) connect() (err error) {
	if x.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(x.a.ctx, x.a.pr.cfg.RequestTimeout)
	defer cancel()
	c, err := x.a.pr.dial(ctx, x.b.addr.Load())
	if err == nil {
		x.conn = c
	}
	return err
}

func (x *asker) hangUp() {
	if x.conn != nil {
		x.conn.Abandon()
		x.conn = nil
	}
}

// portion makes one question for DescribeProducers of those about the first so many
// partitions, and tells them from the rest.
func portion(all []question, partitions int, some []question) (q *inspect.Question, in, rest []question) {
	q, rest = new(inspect.Question), all[:0]
	for _, one := range all {
		if at := one.p.place(); q.Has(at) || q.Places() < partitions {
			q.Add(at, one.p.producerID())
			some = append(some, one)
		} else {
			rest = append(rest, one)
		}
	}
	clear(all[len(rest):])
	return q, some, rest
}

func (p *partition) producerID() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.win.State().ProducerID
}

// awaits reports whether the question is open, and to whom the partition is bound.
func (p *partition) awaits(l *link, number uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link == l && p.inquiry.on == l && p.inquiry.number == number
}

// mayAsk reports whether there are questions, and none is outstanding.
func (l *link) mayAsk() bool { return len(l.asking) > 0 && !l.asked.Load() }

// refused learns from an answer that was not read, for it was too large.
func (l *link) refused(err error) {
	if !errors.Is(err, conn.ErrTooLarge) {
		return
	}
	l.mu.Lock()
	var r *request // only this goroutine takes it off the queue
	if l.requests.len() > 0 {
		r = l.requests.first()
	}
	l.mu.Unlock()
	if r != nil && r.asked != nil {
		l.broker.portion.Refused(r.asked.Places(), r.limit)
	}
}
