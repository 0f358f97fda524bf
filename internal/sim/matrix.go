package sim

import (
	"fmt"
	"strings"
)

// state is what a partition of the client is at when a fault bites.
type state uint8

const (
	stIdle   state = iota // nothing is unresolved
	stReady               // something waits to be written, nothing is in doubt
	stGated               // the first batch, alone
	stFew                 // pipelined
	stMany                // ten batches and more
	stHead                // a replay: the oldest alone
	stPlaced              // a replay: the batch that the broker named, alone
	stSweep               // a replay: what is in doubt behind the oldest
	stVouch               // a replay: a new batch proves the others
	stDrain               // waiting for answers after a fault
	stBackoff
	stDoubt // in doubt, and nothing on the wire
	stAsking
	stReading   // the log
	stThrottled // by the broker
	states
)

var stateNames = [states]string{
	"idle", "ready", "gated", "few", "many", "head", "placed", "sweep", "vouch", "drain", "backoff", "doubt", "asking", "reading", "throttled",
}

func (t state) String() string { return stateNames[t] }

// Matrix counts how often a fault bit in which state.
type Matrix [effects][states]uint64

// Add adds the counts of o.
func (m *Matrix) Add(o *Matrix) {
	for e := range m {
		for t := range m[e] {
			m[e][t] += o[e][t]
		}
	}
}

// stateOf looks at a partition from outside.
func (s *sim) stateOf(i int) state {
	p := &s.parts[i]
	out := p.win.Outstanding()
	st := p.win.State()
	switch {
	case p.own.Reads():
		return stReading
	case p.own.Waits():
		return stAsking
	case p.size() == 0:
		return stIdle
	case st.Phase == "drain" && out > 0:
		return stDrain
	case st.Phase == "sweep":
		return stSweep
	case st.Phase == "vouch":
		return stVouch
	case st.Phase == "gate" && out > 0 && st.Nxt > st.Una+1:
		return stPlaced
	case st.Phase == "gate" && out > 0 && p.q[p.head].wire.open:
		return stHead
	case st.Phase == "gate" && out > 0:
		return stGated
	case out >= 10:
		return stMany
	case out > 0:
		return stFew
	case p.pausing(s.now):
		return stBackoff
	case p.link >= 0 && s.now < s.links[p.link].mutedUntil:
		return stThrottled
	case p.win.InDoubt():
		return stDoubt
	}
	return stReady
}

// effectAt counts a fault that bites at a partition.
func (s *sim) effectAt(e effect, i int) {
	s.effects[e]++
	s.matrix[e][s.stateOf(i)]++
}

func (s *sim) effectIn(e effect, st state) {
	s.effects[e]++
	s.matrix[e][st]++
}

func (s *sim) effectAtIf(ok bool, e effect, i int) {
	if ok {
		s.effectAt(e, i)
	}
}

// effectOn counts a fault of a connection, at every partition that is bound to it.
func (s *sim) effectOn(e effect, id int) {
	s.effects[e]++
	for i := range s.opt.Partitions {
		if p := &s.parts[i]; p.link >= 0 && s.links[p.link].conn == id {
			s.matrix[e][s.stateOf(i)]++
		}
	}
}

// phase is one of the window.
type phase uint8

// Phases counts how often a window went from one phase to another.
type Phases [phases][phases]uint64

const phases = 5

var phaseNames = [phases]string{"gate", "open", "drain", "sweep", "vouch"}

const phaseLetters = "godsv" // the first of each

// notePhase counts where the window went since the last look.
func (s *sim) notePhase(i int) {
	p := &s.parts[i]
	now := phase(strings.IndexByte(phaseLetters, p.win.State().Phase[0]))
	s.phases[p.phase][now]++
	p.phase = now
}

// Add adds the counts of o.
func (t *Phases) Add(o *Phases) {
	for a := range t {
		for b := range t[a] {
			t[a][b] += o[a][b]
		}
	}
}

func (t *Phases) String() string {
	var b strings.Builder
	for from := range t {
		for to, n := range t[from] {
			if from != to && n > 0 {
				fmt.Fprintf(&b, "%10d  %s to %s\n", n, phaseNames[from], phaseNames[to])
			}
		}
	}
	return b.String()
}
