package producer

import "github.com/sluice-kafka/sluice/batcher"

// admit gives the record its place as soon as there is room for it in the
// budget.
func (p *partition) admit(r *batcher.Record, a *admission) error {
	size := int64(a.size)
	var got int64
	var from *share
	for {
		p.mu.Lock()
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
			a.arrive(r, p.clock.look(p.pr.beat.Load()))
			p.append(r, a) // unlocks
			return nil
		}
		from = p.share
		wanted := min(int64(min(p.usual, p.pr.cfg.BatchBytes)), p.pr.cfg.BufferBytes/creditPart)
		p.mu.Unlock()
		var err error
		if got, err = p.pr.budget.take(a.ctx, from, size, wanted, a.maxWait); err != nil {
			return err
		}
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
	if len(p.sealed) > 0 || p.open != nil {
		return 0
	}
	n := p.credit
	p.held -= n
	p.credit = 0
	return n
}

// settleIn gives a record its place that waited for the partition to be known,
// and has its bytes of the budget.
func (p *partition) settleIn(r *batcher.Record, a *admission) error {
	p.mu.Lock()
	if err := p.refuses(); err != nil {
		p.mu.Unlock()
		return err
	}
	p.pr.budget.move(&p.pr.unled, p.share, int64(a.size))
	p.held += int64(a.size)
	p.append(r, a)
	return nil
}
