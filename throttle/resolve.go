package throttle

// InDoubt reports whether a batch may be in the log without being known to be.
func (w *Window) InDoubt() bool { return w.una < w.max && w.at(w.una).doubt }

// Expire gives up the oldest batch because its time is over. While an answer
// is outstanding nothing is decided: the window drains, and the owner calls
// Expire again. What is in doubt becomes Unknown, all of it, and the partition
// goes on in the next epoch of the same producer ID: giving up only the head
// would leave the rest stuck, a new ID would let a straggler land behind it. A
// batch that is surely absent is NotWritten.
func (w *Window) Expire() Resolution {
	if w.una == w.end || !w.Regate() {
		return Resolution{}
	}
	if w.InDoubt() {
		return w.Disown()
	}
	return w.drop()
}

// Drop gives up the oldest batch, which Resolution.HeadRefused named.
func (w *Window) Drop() Resolution {
	w.mustBeDrained("Drop")
	return w.drop()
}

func (w *Window) drop() Resolution {
	r := Resolution{NotWritten: Range{w.una, w.una + 1}, Drained: true}
	numbered := w.una < w.max
	w.una++
	if w.max < w.una {
		w.max = w.una
	}
	w.nxt = w.una
	if numbered {
		w.bump() // its sequences were used: nothing else may carry them
	}
	return r
}

// Split replaces the oldest batch, which Resolution.HeadRefused named as too
// large, by two of the given numbers of records: they take its number and the
// next one, and the numbers of all batches behind it grow by one.
func (w *Window) Split(left, right int32) {
	w.mustBeDrained("Split")
	if w.InDoubt() {
		panic("throttle: Split of a batch in doubt")
	}
	w.bump()
	w.Admit(0)
	for i := w.end - 1; i > w.una+1; i-- {
		*w.at(i) = *w.at(i - 1)
	}
	*w.at(w.una) = entry{records: left}
	*w.at(w.una + 1) = entry{records: right}
}

// Disown makes everything in doubt Unknown and goes on in a new epoch: at the
// deadline of a batch in doubt, or because the log it went to is no more (a
// recreated topic). Nothing may be outstanding.
func (w *Window) Disown() Resolution {
	w.mustBeDrained("Disown")
	r := Resolution{Unknown: Range{w.una, w.doubtEnd()}, Drained: true}
	if r.Unknown.Len() > 0 {
		w.unsettled = true
	}
	w.una = r.Unknown.To
	w.bump()
	return r
}

// NewLog is for a topic that was deleted and created again: what is in doubt
// becomes Unknown and offsets begin anew. Nothing may be outstanding.
func (w *Window) NewLog() Resolution {
	w.lastEnd = -1
	return w.Disown()
}

// Fence stops the partition for good: a newer epoch of the producer ID exists,
// so that someone else owns it. Everything unresolved is given up as by Abort.
func (w *Window) Fence() Resolution {
	r := w.Abort()
	w.fenced = true
	return r
}

// Abort gives up everything: what may be in the log is Unknown, the rest is
// NotWritten. The connection must be abandoned; attempts that are outstanding
// count as Lost.
func (w *Window) Abort() Resolution {
	w.Lost()
	r := Resolution{Unknown: Range{w.una, w.doubtEnd()}, Drained: true}
	r.NotWritten = Range{r.Unknown.To, w.end}
	w.unsettled = w.unsettled || r.Unknown.Len() > 0
	w.una, w.nxt, w.max = w.end, w.end, w.end
	w.fenced = true
	return r
}

// State is a copy of what a Window knows, for statistics and logs.
type State struct {
	ProducerID         int64 // -1: none yet
	Epoch              int16
	Next               Sequence // of the next record
	Una, Nxt, Max, End uint64
	Sequences          int32 // unresolved sequences that were written
	Outstanding        int32 // attempts without an answer
	Limits             Limits
	Phase              string
	InDoubt            bool
}

// State returns a copy of the Window's state.
func (w *Window) State() State {
	s := State{
		ProducerID: w.producerID, Epoch: w.epoch, Next: w.next,
		Una: w.una, Nxt: w.nxt, Max: w.max, End: w.end,
		Outstanding: w.outstanding, Limits: w.limits,
		Phase: w.phase.String(), InDoubt: w.InDoubt(),
	}
	if w.una < w.max {
		s.Sequences = w.next.Distance(w.at(w.una).base)
	}
	return s
}

// NeedsProducerID reports that the epochs of this one are running out.
func (w *Window) NeedsProducerID() bool { return w.epoch >= renewEpoch }
