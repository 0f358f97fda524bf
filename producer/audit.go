package producer

import (
	"context"
	"sync"

	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/sluice-kafka/sluice/throttle"
)

// auditor reads the log where a broker has forgotten the producer while batches
// were in doubt: what is seen below the high watermark is written, whoever
// remembers it or not (protocol rule R8). That is rare and takes long, so it has
// a goroutine and connections of its own, and one partition has its turn after
// the other.
type auditor struct {
	pr    *Producer
	woken chan struct{}

	mu    sync.Mutex
	queue []*audit
}

// audit is the reading for one partition.
type audit struct {
	p    *partition
	at   inspect.Place
	addr string // of the leader
	from int64  // the offset behind the last success
}

func (a *auditor) enqueue(x *audit) {
	a.mu.Lock()
	a.queue = append(a.queue, x)
	a.mu.Unlock()
	select {
	case a.woken <- struct{}{}:
	default:
	}
}

func (a *auditor) next() *audit {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		return nil
	}
	x := a.queue[0]
	a.queue = a.queue[1:]
	return x
}

func (a *auditor) run(ctx context.Context) {
	for ctx.Err() == nil {
		x := a.next()
		if x == nil {
			select {
			case <-a.woken:
			case <-ctx.Done():
			}
			continue
		}
		seen, err := a.read(ctx, x)
		x.p.audited(x, seen, err)
	}
}

// read returns the batches in the log from x.from on, for as long as one
// request may take.
func (a *auditor) read(ctx context.Context, x *audit) (seen []inspect.Header, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.pr.cfg.RequestTimeout)
	defer cancel()
	c, err := a.pr.dial(ctx, x.addr)
	if err != nil {
		return nil, err
	}
	defer c.Abandon()
	_, err = inspect.Log(ctx, c, x.at, x.from, func(h inspect.Header) {
		if h.ProducerID >= 0 {
			seen = append(seen, h)
		}
	})
	return seen, err
}

// audited takes what was seen in the log. What was not seen stays unknown: a
// request may still be under way.
func (p *partition) audited(x *audit, seen []inspect.Header, err error) {
	p.mu.Lock()
	var fx effects
	if p.inquiry.reading == x {
		p.inquiry.reading = nil
		p.pr.log.Info("read the log", "topic", p.topic.name, "partition", p.index, "from", x.from, "batches", len(seen), "err", err)
		for _, h := range seen {
			if h.ProducerID != p.win.State().ProducerID {
				continue
			}
			if i, ok := p.win.Find(h.Epoch, throttle.Sequence(h.Base)); ok {
				p.resolve(p.win.Seen(i, h.Offset), &fx)
			}
		}
		p.stateGone(because(ErrStateLost, err), &fx)
		fx.enqueue = p.target
	}
	p.mu.Unlock()
	p.do(fx)
}
