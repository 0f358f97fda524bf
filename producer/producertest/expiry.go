package producertest

import "time"

// expiry is when the partitions of a cluster forget producers, as Kafka's
// ProducerStateManager does: at regular moments a broker forgets those whose
// last batch has a greatest timestamp that is too old, however long ago it came
// in. So a producer of records with old timestamps is known until the next look.
type expiry struct {
	after time.Duration // 0: never
	every time.Duration // between two looks
	start time.Time     // the first look is so long after it
}

// lookedAt is the time of the latest look, zero if there was none.
func (e *expiry) lookedAt(now time.Time) time.Time {
	n := now.Sub(e.start) / e.every
	if e.after == 0 || n <= 0 {
		return time.Time{}
	}
	return e.start.Add(n * e.every)
}

// expire forgets what the latest look found to be too old. It comes before every
// use of the producers, so that all that are there wrote before that look, and it
// makes no difference that nobody really looked then. The caller holds the lock.
func (p *partition) expire() {
	at := p.rules.expiry.lookedAt(time.Now())
	if !at.After(p.expired) {
		return
	}
	p.expired = at
	p.forgetOlder(at)
}

// forgetOlder forgets the producers that are too old at a time.
func (p *partition) forgetOlder(at time.Time) {
	oldest := at.Add(-p.rules.expiry.after).UnixMilli()
	for id, pr := range p.producers {
		if pr.lastTimestamp <= oldest {
			delete(p.producers, id)
		}
	}
}
