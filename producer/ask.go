package producer

import (
	"log/slog"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// Asking the broker what it knows of us (DescribeProducers, KIP-664) is a help
// where it is allowed, and never a need or a proof: a replay may begin further
// on, and lost data, a second owner and a forgotten producer can be told apart.
// The question goes on the connection about to be used, between Produce
// requests, and the partition waits for its answer.

// inquiry is where a partition is with its question to the broker.
type inquiry struct {
	wanted  bool // something is to be found out
	on      *link
	number  uint64    // of the latest question: the answer to another one is old
	put     time.Time // when that one was put
	clear   bool      // its answer showed nothing behind what is written
	failed  int       // questions in a row without an answer that says something
	reading *audit    // the log is being read, see auditor
	// assured: the broker has just said that it knows us. It holds for one
	// replay of what is no longer fresh (R7), on one connection.
	assured bool
	suspect time.Time // since when a broker seems to have lost what was acknowledged
}

// mostFailed is how often a question is put on a connection that gets nothing but
// errors. A partition that cannot do without goes on asking.
const mostFailed = 3

// mayAsk reports whether the broker offers it, the topic allows it, and there is
// hope for an answer. Rights may be given later: a topic that refused is asked about
// again once metadata would be too old, too.
func (p *partition) mayAsk(l *link) bool {
	closed := flight.Age(p.topic.closedToUs.Load(), time.Now()) < p.pr.cfg.MetadataMaxAge
	return l.describes && !closed && (p.inquiry.failed < mostFailed || p.shared)
}

// doubtful asks for a look at the broker's state before a replay, also a short
// one: one to a broker that forgot us would double what it has.
func (p *partition) doubtful(r throttle.Resolution) {
	if r.Drained || r.Stalled || r.Written.Len() > 0 {
		p.inquiry.assured = false // not with every refusal in a replay that is passed over
	}
	if r.Stalled || r.Drained && p.win.InDoubt() {
		p.inquiry.wanted = true
	}
}

// waitsForWord reports whether nothing may be sent before an answer.
func (p *partition) waitsForWord() bool {
	return p.inquiry.on != nil && p.inquiry.on == p.link || p.inquiry.reading != nil
}

// asks reports whether the question is to be put now.
func (p *partition) asks(l *link, now time.Time) bool {
	q := &p.inquiry
	if !q.wanted || p.win.Outstanding() > 0 {
		return false
	}
	q.wanted, q.on, q.clear = false, nil, false
	if p.mayAsk(l) {
		q.on, q.put = l, now
		q.number++
	}
	return q.on != nil
}

// question is one that was put for a partition.
type question struct {
	p      *partition
	number uint64
}

// ask puts the questions that were found while a request was built, as many as have
// an answer for which those behind it can wait. The others wait for it, too. If even
// one has not, they are put elsewhere.
func (b *broker) ask(l *link, now time.Time) {
	if !l.mayAsk() {
		return
	}
	size, large := b.portion.Next()
	if large {
		b.pr.auditor.describe(l, l.asking)
		clear(l.asking)
		l.asking = l.asking[:0]
		return
	}
	r := requestPool.Get().(*request)
	r.asked, r.asks, l.asking = portion(l.asking, size, r.asks)
	l.asked.Store(true)
	r.correlationID = l.conn.NextCorrelationID()
	encoded := l.conn.EncodeRequest(r.asked.Request(), r.correlationID)
	r.bytes, r.limit = int64(len(encoded)), conn.Limit(r.asked.Request())
	l.begin(r, now)
	n, err := l.conn.Write([][]byte{encoded})
	l.wrote(n)
	if err != nil {
		l.die(err)
		return
	}
	b.pr.stats.questions.Add(1)
}

// hear reads the answer to the questions of r.
func (l *link) hear(r *request, body []byte, now time.Time) error {
	answer := r.asked.Request().ResponseKind().(*inspect.Answer)
	if err := conn.Decode(answer, body, r.limit); err != nil {
		return err
	}
	l.broker.portion.Learn(r.asked.Places(), answer.Size())
	for _, q := range r.asks {
		q.p.heard(l, q.number, answer, now)
	}
	l.asked.Store(false)
	l.broker.nudge()
	return nil
}

// heard takes what the broker says of this partition.
func (p *partition) heard(l *link, number uint64, answer *inspect.Answer, now time.Time) {
	p.mu.Lock()
	var fx effects
	if q := &p.inquiry; q.on == l && q.number == number {
		q.on = nil
		e, ok := answer.Find(p.place(), p.win.State().ProducerID)
		switch code := retry.Code(e.Code); {
		case p.link != l:
			q.wanted = true // of the leader that it has moved to
		case ok && code == retry.None:
			q.failed = 0
			p.hear(e, now, &fx)
		case code == retry.TopicAuthorizationFailed:
			// It was worth a try; replay and freshness do without (R7).
			p.topic.closedToUs.Store(now)
		default:
			q.failed++
			q.wanted, fx.refresh = p.mayAsk(l), true
			p.pauseUntil(now)
		}
		p.settleDown(&fx, now)
		fx.enqueue = p.target
	}
	p.mu.Unlock()
	p.do(fx)
}

// hear acts on the broker's entry for our producer ID.
func (p *partition) hear(e inspect.Entry, now time.Time, fx *effects) {
	p.inquiry.assured, p.inquiry.clear = false, false
	report := throttle.Report{Known: e.Known, Epoch: e.Epoch, Last: e.Last, Current: p.memory.Current(p.leader())}
	if p.shared {
		p.hearOfOthers(e, report, now, fx)
		return
	}
	found := p.win.Hear(report)
	p.inquiry.assured = e.Known && e.Epoch == int32(p.win.State().Epoch)
	fx.say(slog.LevelInfo, "asked the broker for its state",
		"known", e.Known, "epoch", e.Epoch, "last_sequence", e.Last, "found", found.String())
	if p.suspects(found, now, fx) {
		return
	}
	from := p.win.LogEnd()
	switch {
	case found == throttle.FoundLoss:
		fx.loss = true
		p.stateGone(ErrDataLoss, fx)
	case found == throttle.FoundOther:
		p.fatal, fx.fenced = ErrSecondOwner, true
	case found == throttle.FoundGone && p.win.InDoubt() && from >= 0:
		fx.audit = &audit{
			kind: readBatches, p: p, topicID: p.topic.knownID(), addr: p.link.broker.addr.Load(), from: from, producerID: p.win.State().ProducerID,
		}
		p.inquiry.reading = fx.audit
	case found == throttle.FoundGone, !p.inquiry.assured && !p.remembered(now):
		p.stateGone(ErrStateLost, fx)
	}
}

// suspects reports whether a finding has to be looked into once more. A broker
// that gave no success yet may be a deposed leader, for metadata and our memory
// of leader epochs are both behind; it knows less and has lost nothing. The
// checker has the case (throttle, "metadata's epoch is taken for a success's").
func (p *partition) suspects(found throttle.Finding, now time.Time, fx *effects) bool {
	serious := found == throttle.FoundLoss || found == throttle.FoundGone && p.win.InDoubt()
	if !serious || p.memory.Answered(p.leader()) {
		p.inquiry.suspect = time.Time{}
		return false
	}
	return p.lookAgain(now, fx)
}

// lookAgain has the broker asked once more, and reports true, until it has said
// the same for longer than a deposed leader goes on.
func (p *partition) lookAgain(now time.Time, fx *effects) bool {
	q := &p.inquiry
	if q.suspect.IsZero() || now.Sub(q.suspect) > 3*flight.ZombieSpan { // another matter by then
		q.suspect = now
	}
	left := flight.ZombieSpan - now.Sub(q.suspect)
	if left > 0 {
		q.wanted, fx.refresh = true, true
		p.pause.Hold(now.Add(min(left, p.pr.cfg.RetryBackoffMax)))
	}
	return left > 0
}

// stateGone goes on without the state that the broker had of us. A broker that
// knows nothing would take what is sent again for new.
func (p *partition) stateGone(why error, fx *effects) {
	p.memory.Forget()
	if p.shared {
		p.stopFor(why, fx)
		return
	}
	if !p.win.InDoubt() {
		p.win.StateMayBeGone()
		return
	}
	p.condemn(why)
	p.resolve(p.win.Disown(), fx)
}

func (p *partition) place() inspect.Place {
	return inspect.Place{Topic: p.topic.name, Partition: p.index}
}
