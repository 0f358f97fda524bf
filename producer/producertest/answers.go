package producertest

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// answered notes a response that is about to be written.
func (w *watch) answered(p *peer, r *request, m kmsg.Response) {
	switch m := m.(type) {
	case *kmsg.ApiVersionsResponse:
		w.mu.Lock()
		defer w.mu.Unlock()
		p.window = namedWindow(m)
	case *kmsg.ProduceResponse:
		w.mu.Lock()
		defer w.mu.Unlock()
		for i := range r.produce.attempts {
			w.answeredOne(p, &r.produce.attempts[i], m)
		}
	}
}

// answeredOne settles one batch. Where a response names a partition twice the
// first entry counts; where it leaves one out, the batch is no longer on its
// way and stays in doubt.
func (w *watch) answeredOne(p *peer, a *attempt, m *kmsg.ProduceResponse) {
	if !a.batch.numbered() {
		return
	}
	t := w.tracks[trackKey{a.id, a.partition, a.batch.head.ProducerID}]
	if t == nil {
		return // received before its topic was there
	}
	c := t.chains[a.batch.head.ProducerEpoch]
	if c == nil || c.pins[p] == nil || t.open[p] == 0 {
		return
	}
	k := c.pins[p]
	t.open[p]--
	k.out--
	if code, ok := answerTo(a, m); ok {
		c.answered(k, a.batch, code)
	}
}

func answerTo(a *attempt, m *kmsg.ProduceResponse) (code int16, ok bool) {
	for _, t := range m.Topics {
		if t.Topic != a.topic && (m.Version < 13 || t.TopicID != a.id) {
			continue
		}
		for _, e := range t.Partitions {
			if e.Partition == a.partition {
				return e.ErrorCode, true
			}
		}
	}
	return 0, false
}

// answered notes the answer to a batch on one connection.
func (c *chain) answered(k *pin, b *batch, code int16) {
	_, end := c.span(b)
	switch {
	case code == codeNone:
		// acks=all: everything before it is in the log, and replicated.
		c.una, c.success = max(c.una, end), true
		k.open, k.returned, k.refused, k.beyond = true, nil, false, false
	case again(code):
	default:
		k.refused = true
		k.beyond = end == c.max && code != codeOutOfOrder
	}
}

// again reports whether a code leaves a client with nothing but to send the
// same batch, alone, once more. All others are refusals that, in a replay, may
// mean that the broker is further on.
func again(code int16) bool {
	return slices.Contains([]int16{
		-1, 3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 72, 74, 75, 78, 89, 100, 103,
	}, code)
}
