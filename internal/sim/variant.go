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
	onSettle func(w *throttle.Window, i uint64, a throttle.Answer, offset int64) throttle.Resolution
	onExpire func(w *throttle.Window) throttle.Resolution
	onNewID  func(w *throttle.Window, id int64, epoch int16) bool
	onWire   func(s *sim, i int, b *batch, send *throttle.Send)
	restart  func(s *sim, p *part)  // when metadata leaves the partition out
	losing   func(s *sim, i int)    // before the window hears of a lost connection
	answered func(s *sim, m *piece) // before an answer is settled

	movesUndrained    bool // uses the new leader while the old one owes answers
	newIDAnyTime      bool
	epochBlind        bool // does not mind a new leader epoch
	topicBlind        bool // does not mind a new topic id
	losesWakeUp       bool
	deafToThrottle    bool
	timesFromWrite    bool // the request timeout runs from the write
	answersTwice      bool
	readsPastTheMark  bool // also what is not replicated
	readsOthers       bool // takes batches of any producer for its own
	retriesPastExpiry bool
	patientAtDeadline bool // waits for every answer, however long that takes

	logOnly bool // the wire is not judged, so that the log has to show it
}

func (v *variant) bind(w *throttle.Window, l throttle.Limits) {
	w.Bind(l)
	if v.onBound != nil {
		v.onBound(w)
	}
}

func (v *variant) lost(w *throttle.Window) throttle.Resolution {
	r := w.Lost()
	if v.onLost != nil {
		v.onLost(w)
	}
	return r
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

func (v *variant) settle(w *throttle.Window, i uint64, a throttle.Answer, offset int64) throttle.Resolution {
	if v.onSettle != nil {
		return v.onSettle(w, i, a, offset)
	}
	return w.Settle(i, a, offset)
}

func (v *variant) expire(w *throttle.Window) throttle.Resolution {
	if v.onExpire != nil {
		return v.onExpire(w)
	}
	return w.Expire()
}

func (v *variant) setProducer(w *throttle.Window, id int64, epoch int16) bool {
	if v.onNewID != nil {
		return v.onNewID(w, id, epoch)
	}
	return w.SetProducer(id, epoch)
}
