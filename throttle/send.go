package throttle

// Hold says why a Window lets nothing be written now.
type Hold uint8

const (
	Ready         Hold = iota // something may be written
	HoldEmpty                 // nothing to write
	HoldNoBroker              // no connection is bound
	HoldNoID                  // no producer ID yet
	HoldGate                  // one in flight until the first success
	HoldSequences             // the window of sequences is full
	HoldBatches               // the cap on batches is reached
	HoldDrain                 // waiting for what is outstanding after a fault
	HoldReplay                // a replay waits for its answers
	HoldFenced                // another owner, no epoch left, or a resumed Window gave up
)

func (h Hold) String() string {
	return [...]string{
		"ready", "empty", "no broker", "no producer id", "gate", "sequence window",
		"batch cap", "draining", "replay", "fenced",
	}[h]
}

// Send is a batch that may be written now, and what to stamp on it.
type Send struct {
	Batch      uint64
	First      bool // it has never been written in this epoch
	ProducerID int64
	Epoch      int16
	Base       Sequence
}

// Peek returns the batch to write next, or why there is none. It changes
// nothing: Commit does, once the batch has its place in a request.
func (w *Window) Peek() (Send, Hold) {
	if h := w.hold(); h != Ready {
		return Send{}, h
	}
	s := Send{Batch: w.nxt, ProducerID: w.producerID, Epoch: w.epoch}
	if s.First = w.nxt == w.max; s.First {
		s.Base = w.next
	} else {
		s.Base = w.at(w.nxt).base
	}
	return s, Ready
}

// Room says what Peek would if a batch of the given number of records were
// admitted now: whether an open batch is worth sealing, or may go on growing.
func (w *Window) Room(records int32) Hold {
	if w.nxt < w.end {
		return w.hold()
	}
	return w.holdFor(records)
}

func (w *Window) hold() Hold {
	if w.nxt == w.end && !w.fenced && w.phase != drain {
		return HoldEmpty
	}
	return w.holdFor(w.at(w.max).records)
}

// holdFor is hold for a Window whose batch max has the given number of records.
func (w *Window) holdFor(records int32) Hold {
	switch {
	case w.fenced:
		return HoldFenced
	case w.phase == drain:
		return HoldDrain
	case !w.bound:
		return HoldNoBroker
	case w.producerID < 0:
		return HoldNoID
	case w.phase == gate && w.outstanding > 0:
		return HoldGate
	case w.phase == sweep && w.nxt == w.sweepEnd, w.phase == vouch && w.outstanding > 0:
		return HoldReplay
	case w.nxt == w.max && !w.placed():
		return w.room(records)
	}
	return Ready // in a replay: what is in doubt must be settled, whatever the limits
}

// placed says that Hear lets the replay begin behind una.
func (w *Window) placed() bool { return w.phase == gate && w.nxt > w.una }

// room says whether a batch of so many records may be written for the first
// time. Distances
// count from una, the oldest unresolved batch, not from what is in flight:
// that is what the broker must be able to recognise. A batch with nothing
// before it always may, even one cut for a larger window.
func (w *Window) room(records int32) Hold {
	if w.una == w.max {
		return Ready
	}
	last := w.next.Add(records - 1)
	if last.Distance(w.at(w.una).base) >= w.limits.Sequences {
		return HoldSequences
	}
	if w.limits.Batches > 0 && w.max-w.una >= uint64(w.limits.Batches) {
		return HoldBatches
	}
	return Ready
}

// Commit says that what Peek returned is being written. From here on its
// sequence is fixed.
func (w *Window) Commit() {
	if w.nxt == w.max {
		w.number(w.max + 1)
	}
	e := w.at(w.nxt)
	e.out, e.refused = true, false
	w.outstanding++
	w.nxt++
}

// number gives the batches before end their sequences. On a resumed Window they
// are in doubt from the start.
func (w *Window) number(end uint64) {
	for ; w.max < end; w.max++ {
		e := w.at(w.max)
		e.base, e.doubt = w.next, w.resumed
		w.next = w.next.Add(e.records)
	}
}

// Pending reports whether an admitted batch is waiting to be written, again or
// for the first time.
func (w *Window) Pending() bool { return w.nxt < w.end }
