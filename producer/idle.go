package producer

import (
	"errors"
	"time"
)

// idleLooks is how often idle topics are looked for within metadata.max.idle.ms.
const idleLooks = 4

// errGone: the topic was let go of at that moment. Whoever came for it finds
// another one.
var errGone = errors.New("the topic was idle and is gone")

// quiet is since when a topic has had no record. It belongs to the control loop.
type quiet struct {
	count uint64 // of records so far
	since time.Time
}

// forgetIdle lets go of the topics of the producer itself that had no record for
// long (KIP-526): they leave the metadata requests, which otherwise would name them
// for ever, and all that is kept of them. Lanes keep theirs; they end, or are
// resumed. A partition may only be forgotten once its producer ID is not used for
// new ones any more: sequences that begin anew must be another producer's. So where
// there is one, a new ID is asked for, and the topic goes once it is there.
func (c *control) forgetIdle(now time.Time) {
	main := c.pr.main
	renew := false
	for _, t := range *main.topics.Load() {
		if n, busy := t.activity(); busy || n != t.quiet.count || t.quiet.since.IsZero() {
			t.quiet = quiet{n, now}
			continue
		}
		if now.Sub(t.quiet.since) < c.pr.cfg.MetadataMaxIdle {
			continue
		}
		if t.numbers(main.identity.Load()) {
			renew = true
		} else if main.drop(t) {
			c.forget(t.name)
		}
	}
	if renew {
		c.renew(main)
	}
}

// forget drops what is known of a topic that no lane uses.
func (c *control) forget(name string) {
	used := false
	c.pr.eachLane(func(l *Lane) { used = used || l.topics.find(name) != nil })
	if used {
		return
	}
	c.snap = c.snap.Without(name)
	c.want(func(w *wanted) {
		delete(w.fresh, name)
		delete(w.missed, name)
	})
	c.letGo()
}

// drop takes an idle topic out of the lane, unless a record comes at that moment.
func (l *Lane) drop(t *topic) bool {
	l.topicsMu.Lock() // who finds the topic gone waits here for what takes its place
	defer l.topicsMu.Unlock()
	if !t.leave() {
		return false
	}
	l.topics.remove(t.name)
	l.recent.CompareAndSwap(t, nil)
	return true
}

// instead returns what has taken the place of a topic that is gone, or the topic
// itself if it stays after all.
func (l *Lane) instead(t *topic) (*topic, error) {
	l.topicsMu.Lock()
	now := l.topics.find(t.name)
	l.topicsMu.Unlock()
	l.recent.CompareAndSwap(t, nil)
	if now != nil {
		return now, nil
	}
	return l.topic(t.name)
}

// activity is how many records have come so far, and whether one has no outcome.
func (t *topic) activity() (n uint64, busy bool) {
	t.mu.Lock()
	n, busy = t.arrived, len(t.waiting) > 0 || t.moving > 0
	t.mu.Unlock()
	t.each(func(p *partition) {
		accepted := p.mark()
		n += accepted
		busy = busy || p.unsettled(accepted)
	})
	return n, busy
}

// numbers reports whether a partition has used sequences of the producer ID.
func (t *topic) numbers(id *identity) (used bool) {
	t.each(func(p *partition) {
		p.mu.Lock()
		used = used || id != nil && p.ident == id
		p.mu.Unlock()
	})
	return used
}

// leave lets no record in any more, if nothing is here.
func (t *topic) leave() bool {
	t.mu.Lock()
	t.gone = len(t.waiting) == 0 && t.moving == 0
	gone := t.gone
	t.mu.Unlock()
	id := t.lane.identity.Load()
	t.each(func(p *partition) { gone = gone && p.leave(id) })
	if !gone {
		t.mu.Lock()
		t.gone = false
		t.mu.Unlock()
		t.each(func(p *partition) { p.setGone(false) })
	}
	return gone
}

func (p *partition) leave(id *identity) bool {
	p.mu.Lock()
	idle := p.head() == nil && p.encoding == 0 && p.win.Outstanding() == 0 && !p.unsettled(p.accepted)
	p.gone = idle && (p.ident == nil || p.ident != id)
	gone, share, free := p.gone, p.share, p.spare()
	p.mu.Unlock()
	p.pr.budget.give(share, free)
	return gone
}

func (p *partition) setGone(gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = gone
}
