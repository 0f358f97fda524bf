package producer

import (
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The question to the broker, what it knows of us (see package flight), goes on the
// connection about to be used, between Produce requests, and the partition waits
// for its answer.

// question is one that was put for a partition.
type question struct {
	p      *partition
	number uint64
}

// ask puts the questions that were found while a request was built.
func (b *broker) ask(l *link, now time.Time) {
	if len(b.asking) == 0 {
		return
	}
	var q inspect.Question
	for _, one := range b.asking {
		q.Add(one.p.place())
	}
	r := requestPool.Get().(*request)
	r.asks = append(r.asks, b.asking...)
	clear(b.asking)
	b.asking = b.asking[:0]
	r.correlationID = l.conn.NextCorrelationID()
	encoded := l.conn.EncodeRequest(q.Request(), r.correlationID)
	r.bytes, r.limit = int64(len(encoded)), conn.Limit(q.Request())
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
	resp := kmsg.NewPtrDescribeProducersResponse()
	if err := conn.Decode(resp, body); err != nil {
		return err
	}
	answer := inspect.Read(resp)
	for _, q := range r.asks {
		q.p.heard(l, q.number, answer, now)
	}
	return nil
}

// heard takes what the broker says of this partition.
func (p *partition) heard(l *link, number uint64, answer inspect.Answer, now time.Time) {
	p.mu.Lock()
	e, ok := answer.Find(p.place(), p.win.State().ProducerID)
	code := retry.Code(e.Code)
	w := flight.Word{
		Answered: ok && code == retry.None, Closed: code == retry.TopicAuthorizationFailed,
		Known: e.Known, Epoch: e.Epoch, Last: e.Last,
	}
	var out flight.Effects
	if p.own.Heard(number, p.link == l, w, p.offers(l, now), now, &out) {
		if w.Closed {
			p.topic.closedToUs.Store(now)
		}
		p.carry(out)
		p.fx.enqueue = p.target
		p.fx.say = func() {
			p.pr.log.Info("asked the broker for its state", "topic", p.topic.name, "partition", p.index,
				"answered", w.Answered, "known", w.Known, "epoch", w.Epoch, "last_sequence", w.Last, "found", out.Found.String())
		}
	}
	p.unlock()
}

func (p *partition) place() inspect.Place {
	return inspect.Place{Topic: p.topic.name, Partition: p.index}
}
