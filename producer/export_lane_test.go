package producer

import "fmt"

// LateRenew does what Lane.topic does when it found no identity, and was
// preempted before it said so.
func LateRenew(l *Lane) { l.pr.control.renew(l) }

// LaneState shows what a lane waits for, where a test hangs.
func LaneState(l *Lane) string {
	s := ""
	for _, t := range *l.topics.Load() {
		t.mu.Lock()
		s += fmt.Sprintf("topic %s waiting %d moving %d; ", t.name, len(t.waiting), t.moving)
		t.mu.Unlock()
	}
	l.each(func(p *partition) {
		p.mu.Lock()
		st := p.win.State()
		s += fmt.Sprintf("%s/%d acc %d set %d sealed %d open %v fatal %v enc %v inq %+v pend %+v win %+v retryAt %v tgt %v link %v marks %d; ", p.topic.name, p.index, p.accepted, p.settled, p.sealed.len(), p.open != nil, p.fatal, p.encoding, p.inquiry, p.pending, st, p.retryAt, p.target != nil, p.link != nil, len(p.marks))
		p.mu.Unlock()
	})
	return s
}

// ControlState shows what the control loop and the connections wait for.
func ControlState(pr *Producer) string {
	c := &pr.control
	c.mu.Lock()
	defer c.mu.Unlock()
	s := fmt.Sprintf("control stale %v urgent %v needID %d err %v rounds %d", c.stale, c.urgent, len(c.needID), c.err.Load(), c.rounds.Load())
	n := 0
	pr.eachLane(func(l *Lane) {
		if l.identity.Load() == nil {
			n++
		}
	})
	s += fmt.Sprintf(" lanes without id %d;", n)
	for _, b := range *pr.senders.Load() {
		b.mu.Lock()
		s += fmt.Sprintf(" ready %d", len(b.ready))
		b.mu.Unlock()
		if l := b.link.Load(); l != nil {
			l.mu.Lock()
			s += fmt.Sprintf(" link req %d writing %d cause %v depth %+v", l.requests.len(), len(l.writing), l.cause, l.depth)
			for _, r := range l.requests.all() {
				s += fmt.Sprintf("[asks %d attempts %d written %v]", len(r.asks), len(r.attempts), r.written)
			}
			l.mu.Unlock()
		}
	}
	return s
}
