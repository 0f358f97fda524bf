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
		s += fmt.Sprintf("%s/%d acc %d set %d sealed %d open %v fatal %v enc %v inq %+v win %+v tgt %v link %v marks %d; ", p.topic.name, p.index, p.accepted, p.settled, p.sealed.len(), p.open != nil, p.fatal, p.encoding, &p.own, st, p.target != nil, p.link != nil, len(p.marks))
		p.mu.Unlock()
	})
	return s
}
