package producer

import (
	"errors"
	"time"

	"github.com/sluice-kafka/sluice/retry"
)

var (
	errNoProducerID = errors.New("no producer id yet")
	errMuted        = errors.New("the broker throttles this client: it asks for silence between the requests (KIP-219)")
	errUnasked      = errors.New("the broker has not said yet what it knows of the producer")
	errQueued       = errors.New("it was still waiting for its turn behind other records")
)

// behind is the trouble of the records before one that was never sent.
type behind struct{ t *trouble }

func (e behind) Error() string { return "behind records that do not get through: " + e.t.Error() }
func (e behind) Unwrap() error { return e.t }

// blame notes a cause with everything that was sent, by whomever.
func (p *partition) blame(cause error, now time.Time) {
	p.eachTrouble(func(t *trouble) *trouble { return t.and(cause, now) })
	p.trouble = p.trouble.and(cause, now)
}

// condemn notes why everything that was sent, by whomever, may be given up.
func (p *partition) condemn(verdict error) {
	whole := p.inFull(verdict)
	p.eachTrouble(func(t *trouble) *trouble { return t.sentenced(verdict, whole) })
}

// sentenced is the trouble with a verdict: whole where there is no cause yet.
func (t *trouble) sentenced(verdict, whole error) *trouble {
	if t.cause() == nil {
		return t.ended(whole)
	}
	return t.ended(verdict)
}

// eachTrouble changes the trouble of what was sent. Batches that share one go on
// sharing.
func (p *partition) eachTrouble(change func(*trouble) *trouble) {
	var before, after *trouble
	first := true
	for _, b := range p.sealed.all() {
		if b.Attempts == 0 && !p.shared {
			continue
		}
		if first || b.trouble != before {
			first, before, after = false, b.trouble, change(b.trouble)
		}
		b.trouble = after
	}
}

// inFull is a verdict that says nothing of the cause, with what is known to have
// been in the way of a batch that has no trouble of its own.
func (p *partition) inFull(verdict error) error {
	switch {
	case errors.Is(verdict, ErrClosed):
		return because(verdict, p.obstacle())
	case errors.Is(verdict, ErrDeliveryTimeout):
		if cause := p.obstacle(); cause != nil {
			return because(verdict, cause)
		}
		return because(verdict, errQueued)
	}
	return verdict
}

// obstacle is the best reason known for why nothing gets through, nil if nothing
// is in the way.
func (p *partition) obstacle() error {
	switch {
	case p.trouble != nil:
		return behind{p.trouble}
	case p.topic.lane.identity.Load() == nil:
		return because(errNoProducerID, p.pr.control.lastError())
	case p.target == nil:
		return retry.LeaderNotAvailable
	}
	if err := p.target.lastError(); err != nil {
		return err
	}
	l := p.link // what is bound to a connection that ended in silence still shows it
	if l == nil {
		l = p.target.link.Load()
	}
	if l != nil && l.mutedSince(p.head().created) {
		return errMuted
	}
	if p.waitsForWord() {
		return errUnasked
	}
	return nil
}
