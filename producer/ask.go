package producer

import (
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Asking the broker what it knows of us (DescribeProducers, KIP-664) is a help
// where it is allowed, and never a need or a proof: a replay may begin further
// on, and lost data, a second owner and a forgotten producer can be told apart.
// The question goes on the connection about to be used, between Produce
// requests, and the partition waits for its answer.

// askFrom is how many batches in doubt are worth a round trip: fewer are soon
// sent again.
const askFrom = 8

// inquiry is where a partition is with its question to the broker.
type inquiry struct {
	wanted  bool // something is to be found out
	on      *link
	reading *audit // the log is being read, see auditor
	// assured: the broker has just said that it knows us. It holds for one look
	// at a batch that is no longer fresh (R7).
	assured bool
}

// mayAsk reports whether the broker offers it and the topic allows it.
func (p *partition) mayAsk(l *link) bool { return l.describes && !p.topic.closedToUs.Load() }

// doubtful asks for a look at the broker's state if much is in doubt, or if the
// broker refuses everything.
func (p *partition) doubtful(r throttle.Resolution) {
	p.inquiry.assured = false
	if r.Stalled || r.Drained && p.win.DoubtLen() >= askFrom {
		p.inquiry.wanted = true
	}
}

// waitsForWord reports whether nothing may be sent before an answer.
func (p *partition) waitsForWord() bool {
	return p.inquiry.on != nil && p.inquiry.on == p.link || p.inquiry.reading != nil
}

// asks reports whether the question is to be put now.
func (p *partition) asks(l *link) bool {
	q := &p.inquiry
	if !q.wanted || p.win.Outstanding() > 0 {
		return false
	}
	q.wanted = false
	if p.mayAsk(l) {
		q.on = l
	}
	return q.on == l
}

// ask puts the questions that were found while a request was built.
func (b *broker) ask(l *link, now time.Time) {
	var q inspect.Question
	for _, p := range b.asking {
		q.Add(p.topic.name, p.index)
	}
	r := requestPool.Get().(*request)
	r.asks = append(r.asks, b.asking...)
	clear(b.asking)
	b.asking = b.asking[:0]
	r.correlationID = l.conn.NextCorrelationID()
	l.begin(r, now)
	if _, err := l.conn.Write([][]byte{l.conn.AppendRequest(nil, q.Request(), r.correlationID)}); err != nil {
		l.die(err)
		return
	}
	l.wrote(r)
	b.pr.stats.questions.Inc()
}

// hear reads the answer to the questions of r.
func (l *link) hear(r *request, body []byte, now time.Time) error {
	resp := kmsg.NewPtrDescribeProducersResponse()
	if err := conn.Decode(resp, body); err != nil {
		return err
	}
	for _, p := range r.asks {
		p.heard(l, resp, now)
	}
	return nil
}

// heard takes what the broker says of this partition.
func (p *partition) heard(l *link, resp *kmsg.DescribeProducersResponse, now time.Time) {
	p.mu.Lock()
	var fx effects
	if q := &p.inquiry; q.on == l {
		q.on = nil
		e, ok := inspect.Find(resp, p.topic.name, p.index, p.win.State().ProducerID)
		switch code := retry.Code(e.Code); {
		case p.link != l:
		case ok && code == retry.None:
			p.hear(e, now, &fx)
		case code == retry.NotLeaderOrFollower || code == retry.UnknownTopicOrPartition:
			q.wanted, fx.refresh = true, true
			p.pauseUntil(now)
		default:
			// Not allowed, most likely. It was worth a try; replay and freshness
			// do without (R7).
			p.topic.closedToUs.Store(true)
		}
		p.settleDown(&fx, now)
		fx.enqueue = p.target
	}
	p.mu.Unlock()
	p.do(fx)
}

// hear acts on the broker's entry for our producer ID.
func (p *partition) hear(e inspect.Entry, now time.Time, fx *effects) {
	p.inquiry.assured = false
	report := throttle.Report{Known: e.Known, Epoch: e.Epoch, Last: e.Last, Current: p.current()}
	if p.resumed {
		p.hearOfFormer(e, report, fx)
		return
	}
	found := p.win.Hear(report)
	p.inquiry.assured = e.Known && e.Epoch == int32(p.win.State().Epoch)
	p.pr.log.Info("asked the broker for its state", "topic", p.topic.name, "partition", p.index,
		"known", e.Known, "epoch", e.Epoch, "last_sequence", e.Last, "found", found.String())
	from := p.win.LogEnd()
	switch {
	case found == throttle.FoundLoss:
		fx.loss = true
		p.stateGone(ErrDataLoss, fx)
	case found == throttle.FoundOther:
		p.fatal, fx.fenced = ErrSecondOwner, true
	case found == throttle.FoundGone && p.win.InDoubt() && from >= 0:
		fx.audit = &audit{p: p, at: p.place(), addr: p.link.broker.addr.Load(), from: from, producerID: p.win.State().ProducerID}
		p.inquiry.reading = fx.audit
	case found == throttle.FoundGone, !p.inquiry.assured && !p.remembered(now):
		p.stateGone(ErrStateLost, fx)
	}
}

// stateGone goes on without the state that the broker had of us. A broker that
// knows nothing would take what is sent again for new.
func (p *partition) stateGone(why error, fx *effects) {
	p.anchor = anchor{}
	if !p.win.InDoubt() {
		p.win.StateMayBeGone()
		return
	}
	p.blame(why)
	p.resolve(p.win.Disown(), fx)
}

// current reports whether the broker of the connection leads under an epoch not
// older than that of the last success: it gave that itself, or its epoch is
// newer. A deposed leader may be behind and has lost nothing.
func (p *partition) current() bool {
	return p.link.broker.id == p.acked.broker || p.leaderEpoch > p.acked.leaderEpoch
}

func (p *partition) place() inspect.Place {
	at := inspect.Place{Topic: p.topic.name, Partition: p.index}
	if id := p.topic.id.Load(); id != nil {
		at.TopicID = *id
	}
	return at
}
