package producer

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-kafka/sluice/batcher"
)

// admission is a record on its way to its place, with what comes with it.
type admission struct {
	rec     batcher.Record
	d       delivery
	size    int             // of a batch with nothing else: what it takes of the budget
	came    time.Time       // when there was room for it
	dated   bool            // it has a timestamp of its own
	urgent  bool            // someone waits for it: no linger
	free    bool            // its partition was chosen as that of the run, and may be another one
	ctx     context.Context // bound the wait for room
	maxWait time.Duration
}

// arrive notes when there was room for the record.
func (a *admission) arrive(now time.Time) {
	a.came = now
	if !a.dated {
		a.rec.Timestamp = now.UnixMilli()
	}
	a.d.timestamp = a.rec.Timestamp
}

// clone returns one that uses none of the caller's memory.
func (a *admission) clone() admission {
	c := *a
	c.rec.Key, c.rec.Value, c.rec.Headers = clone(a.rec.Key), clone(a.rec.Value), nil
	for _, h := range a.rec.Headers {
		c.rec.Headers = append(c.rec.Headers, Header{Key: h.Key, Value: clone(h.Value)})
	}
	return c
}

// clone keeps nil and empty apart (K56).
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// errElsewhere is that a record had better go to another partition: the broker of
// this one has all that it may have of the budget, as one does that has stopped.
var errElsewhere = errors.New("another partition, please")

// admit gives the record its place as soon as there is room for it in the
// budget.
func (p *partition) admit(a *admission) error {
	size := int64(a.size)
	var got int64
	var from *share
	for {
		p.mu.Lock()
		if from == nil {
			p.chosen(a) // even if it has to wait: others had better go elsewhere
		}
		p.gain(from, got)
		if err := p.refuses(); err != nil {
			share, free := p.share, p.spare()
			p.mu.Unlock()
			p.pr.budget.give(share, free)
			return err
		}
		if p.credit >= size {
			p.credit -= size
			if p.open == nil {
				p.clock.hurry()
			}
			a.arrive(p.clock.look(p.pr.beat.Load()))
			p.append(a) // unlocks
			return nil
		}
		from = p.share
		wanted := min(int64(min(p.usual, p.pr.cfg.BatchBytes)), p.pr.cfg.BufferBytes/creditPart)
		p.mu.Unlock()
		if a.free && p.pr.budget.drained(from, size) {
			return errElsewhere
		}
		var err error
		if got, from, err = p.pr.budget.takeAt(a.ctx, &p.share, size, wanted, a.maxWait); err != nil {
			return err
		}
	}
}

// chosen notes a record that came because the partition was the chosen one.
func (p *partition) chosen(a *admission) {
	if a.free {
		p.topic.sticky.count(&p.run, p.index, a.size, p.pr.cfg.BatchBytes)
	}
}

// creditPart bounds what a partition takes from the budget at once, for the
// records to come: so many partitions can do that.
const creditPart = 64

// gain adds bytes of the budget that were taken by a share. Meanwhile the
// partition may have got another leader.
func (p *partition) gain(from *share, n int64) {
	p.held += n
	p.credit += n
	if n > 0 && from != p.share {
		p.pr.budget.move(from, p.share, n)
	}
}

// spare is what no record uses and, as no batch is left, none soon will.
func (p *partition) spare() int64 {
	if p.sealed.len() > 0 || p.open != nil {
		return 0
	}
	n := p.credit
	p.held -= n
	p.credit = 0
	return n
}

// settleIn gives a record its place that waited for the partition to be known,
// and has its bytes of the budget.
func (p *partition) settleIn(a *admission) error {
	p.mu.Lock()
	p.chosen(a)
	if err := p.refuses(); err != nil {
		p.mu.Unlock()
		return err
	}
	p.pr.budget.move(&p.pr.unled, p.share, int64(a.size))
	p.held += int64(a.size)
	p.append(a)
	return nil
}
