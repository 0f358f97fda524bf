package sim

import (
	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/throttle"
)

// variant is a client with one of its rules taken out, to see that the
// simulation notices. The zero variant is the client as it is.
type variant struct {
	answer   func(a *flight.Answer)
	onBound  func(w *throttle.Window)
	onLost   func(w *throttle.Window)
	onPeek   func(w *throttle.Window)
	onHold   func(w *throttle.Window, send throttle.Send) throttle.Hold
	before   func(w *throttle.Window, i uint64, a throttle.Answer) // the window hears an answer
	after    func(w *throttle.Window, a throttle.Answer)
	onWire   func(s *sim, i int, b *batch, send *throttle.Send)
	restart  func(s *sim, p *part)  // when metadata leaves the partition out
	losing   func(s *sim, i int)    // before the window hears of a lost connection
	answered func(s *sim, m *piece) // before an answer is settled

	movesUndrained    bool // uses the new leader while the old one owes answers
	losesWakeUp       bool
	deafToThrottle    bool
	timesFromWrite    bool // the request timeout runs from the write
	answersTwice      bool
	readsPastTheMark  bool // also what is not replicated
	readsOthers       bool // takes batches of any producer for its own
	patientAtDeadline bool // waits for every answer, however long that takes

	logOnly bool // the wire is not judged, so that the log has to show it
}

func (v *variant) bind(w *throttle.Window, l throttle.Limits) {
	w.Bind(l)
	if v.onBound != nil {
		v.onBound(w)
	}
}

func (v *variant) peek(w *throttle.Window) (throttle.Send, throttle.Hold) {
	if v.onPeek != nil {
		v.onPeek(w)
	}
	send, h := w.Peek()
	if h == throttle.Ready && v.onHold != nil {
		h = v.onHold(w, send)
	}
	return send, h
}
