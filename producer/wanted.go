package producer

import (
	"maps"
	"slices"
	"time"
)

// wanted is what the control loop was asked for and has not done. It grows with
// what waits for it, and with nothing else.
type wanted struct {
	all    bool                // metadata of all topics
	fresh  map[string]struct{} // topics that were never asked for
	missed map[string]struct{} // topics that were, and of which something is missing
	lanes  map[*Lane]bool      // that need a producer ID; true: asked for already
}

func newWanted(main *Lane) wanted {
	return wanted{
		all: true, fresh: map[string]struct{}{}, missed: map[string]struct{}{}, lanes: map[*Lane]bool{main: false},
	}
}

func (w *wanted) learn(name string) {
	if _, ok := w.missed[name]; !ok {
		w.fresh[name] = struct{}{}
	}
}

func (w *wanted) renew(l *Lane) {
	if _, ok := w.lanes[l]; !ok {
		w.lanes[l] = false
	}
}

// again takes back what did not come, or not completely.
func (w *wanted) again(all bool, topics []string) {
	w.all = w.all || all
	for _, name := range topics {
		delete(w.fresh, name)
		w.missed[name] = struct{}{}
	}
}

// pace is when the next round may be.
type pace struct {
	next   time.Time // for everything
	fresh  time.Time // for what is asked for the first time
	failed bool      // the latest round did; then nothing goes before next
}

// gather is how long new topics wait for company. Ten thousand that come within a
// second are some hundred requests, and each names only those that are new.
const gather = 5 * time.Millisecond

// work is what is to be done in a round.
type work struct {
	due    bool // everything that is wanted, and not only what is new
	all    bool
	topics []string // besides, or instead
	lanes  []*Lane
}

func (w *work) none() bool { return !w.all && len(w.topics)+len(w.lanes) == 0 }

// take takes over what may be done now. If there is nothing, it says how long to
// wait, 0 if nothing is wanted.
func (w *wanted) take(p *pace, now time.Time) (work, time.Duration) {
	if !w.all && len(w.fresh)+len(w.missed)+len(w.lanes) == 0 {
		return work{}, 0
	}
	if wait := p.next.Sub(now); wait > 0 {
		return w.takeNew(p, now, wait)
	}
	job := work{due: true, all: w.all, lanes: slices.Collect(maps.Keys(w.lanes))}
	job.topics = slices.AppendSeq(slices.Collect(maps.Keys(w.fresh)), maps.Keys(w.missed))
	w.all = false
	clear(w.fresh)
	clear(w.missed)
	w.asked(job.lanes)
	return job, 0
}

// takeNew is take before the pause is over.
func (w *wanted) takeNew(p *pace, now time.Time, wait time.Duration) (work, time.Duration) {
	var lanes []*Lane
	for l, asked := range w.lanes {
		if !asked {
			lanes = append(lanes, l)
		}
	}
	if p.failed || len(w.fresh) == 0 {
		return work{}, wait
	}
	if soon := p.fresh.Sub(now); soon > 0 {
		return work{}, min(soon, wait)
	}
	job := work{topics: slices.Collect(maps.Keys(w.fresh)), lanes: lanes}
	clear(w.fresh)
	w.asked(lanes)
	return job, 0
}

// asked: lanes stay until they have an ID.
func (w *wanted) asked(lanes []*Lane) {
	for _, l := range lanes {
		w.lanes[l] = true
	}
}
