package producer

import (
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// keptBytes is the largest buffer that is kept for the next response. Usual ones
// have some 50 bytes for each partition; a refusal of many records is rare.
const keptBytes = 64 << 10

// receive reads responses until the link dies.
func (l *link) receive() {
	var (
		buf  []byte
		id   int32
		err  error
		resp kmsg.ProduceResponse
	)
	limit := l.answerLimit // once: each method value is an allocation
	for {
		if id, buf, err = l.conn.ReadFrame(buf, limit); err != nil {
			l.refused(err)
			l.die(err)
			return
		}
		now := time.Now()
		r, err := l.answered(id, now)
		if err != nil {
			l.die(&conn.Error{Addr: l.conn.Addr(), Op: "produce", Err: err})
			return
		}
		if len(r.asks) > 0 {
			err = l.hear(r, buf, now)
		} else {
			err = l.settle(r, &resp, buf, now)
		}
		if err != nil {
			l.unreadable(r, err)
			return
		}
		if cap(buf) > keptBytes {
			buf = nil
		}
		l.inFlight.Add(-r.bytes)
		if len(r.attempts) > 0 {
			l.answers.Add(1)
		}
		r.recycle()
		if l.hungry.Load() && !l.choked.Load() {
			l.broker.nudge()
		}
	}
}

// unreadable puts the request back: its answer could not be read, so nothing
// is known of it, nor of what follows on this connection.
func (l *link) unreadable(r *request, err error) {
	l.mu.Lock()
	l.requests.replace(append([]*request{r}, l.requests.all()...))
	l.mu.Unlock()
	l.die(err)
}

// settle decodes a response into resp, whose memory serves again, and hands the
// answers to the partitions. What the response leaves out has
// no answer; what it says twice counts once; what was not asked does not
// count (K31).
func (l *link) settle(r *request, resp *kmsg.ProduceResponse, body []byte, now time.Time) error {
	*resp = kmsg.ProduceResponse{Version: r.version}
	if err := conn.Decode(resp, body, r.limit); err != nil {
		return err
	}
	if d := time.Duration(resp.ThrottleMillis) * time.Millisecond; d > 0 {
		l.broker.pr.stats.brokerThrottled.Add(int64(d))
		l.mute(min(d, l.broker.pr.cfg.DeliveryTimeout), now)
	}
	cursor := 0
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			rp := &t.Partitions[j]
			at := r.find(&cursor, t.Topic, t.TopicID, rp.Partition)
			if at == nil {
				continue
			}
			at.done = true
			if hint := leaderHint(at, rp, resp.Brokers); hint != nil {
				l.broker.pr.control.hint(*hint)
			}
			at.p.settle(*at, answerFrom(l.conn, rp), now)
		}
	}
	for i := range r.attempts {
		if at := &r.attempts[i]; !at.done {
			at.done = true
			at.p.settle(*at, answer{Answer: flight.Answer{Missing: true, BaseOffset: -1}, err: errNotAnswered}, now)
		}
	}
	return nil
}

// find looks for the attempt that an entry of the response answers, from where
// the last one was found: brokers mostly answer in the order of the request.
func (r *request) find(cursor *int, name string, id [16]byte, index int32) *attempt {
	for range r.attempts {
		at := &r.attempts[*cursor%len(r.attempts)]
		*cursor++
		if at.done || at.p.index != index {
			continue
		}
		if r.version >= 13 && at.topic == id || r.version < 13 && at.p.topic.name == name {
			return at
		}
	}
	return nil
}

func answerFrom(c *conn.Conn, rp *kmsg.ProduceResponseTopicPartition) answer {
	a := answer{Answer: flight.Answer{Code: retry.Code(rp.ErrorCode), BaseOffset: rp.BaseOffset}, appendTime: rp.LogAppendTime}
	if rp.ErrorMessage != nil {
		a.message = c.Quote(*rp.ErrorMessage)
	}
	return a
}
