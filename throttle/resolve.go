package throttle

// InDoubt reports whether a batch may be in the log without being known to be.
// On a resumed Window any may, sent or not.
func (w *Window) InDoubt() bool {
	if w.resumed {
		return w.una < w.end
	}
	return w.una < w.max && w.at(w.una).doubt
}

// DoubtLen is the number of batches that may be in the log, from the oldest on
// without a gap.
func (w *Window) DoubtLen() int { return int(w.doubtEnd() - w.una) }

// AtGate reports whether una is to go alone, and nothing is outstanding.
func (w *Window) AtGate() bool { return w.phase == gate && w.outstanding == 0 }

// LogEnd is the offset behind the last success, -1 if it is not known.
func (w *Window) LogEnd() int64 { return w.lastEnd }

// Expire gives up the oldest batch because its time is over. While an answer
// is outstanding nothing is decided: the window drains, and the owner calls
// Expire again. What is in doubt becomes Unknown, all of it, and the partition
// goes on in the next epoch of the same producer ID: giving up only the head
// would leave the rest stuck, a new ID would let a straggler land behind it. A
// batch that is surely absent is NotWritten. A resumed Window gives up
// everything, see Resume.
func (w *Window) Expire() Resolution {
	if w.una == w.end || !w.Regate() {
		return Resolution{}
	}
	if w.resumed {
		return w.giveUp(w.end)
	}
	if w.InDoubt() {
		return w.disown(w.doubtEnd())
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
	stray := w.at(w.una).stray
	*w.at(w.una) = entry{records: left, stray: stray}
	*w.at(w.una + 1) = entry{records: right, stray: stray}
}

// Disown makes everything in doubt Unknown and goes on in a new epoch, because
// the broker's state cannot be relied on: lost, or of another log. Then nothing
// holds back a straggler, be it behind a batch that is absent or of an earlier
// epoch, so everything up to the last batch that has one goes, too. Nothing may
// be outstanding. A resumed Window gives up everything, see Resume.
func (w *Window) Disown() Resolution {
	if w.resumed {
		w.mustBeDrained("Disown")
		return w.giveUp(w.end)
	}
	from, end := w.una, w.atLargeEnd()
	for from < end && !w.at(from).atLarge() {
		from++
	}
	r := w.disown(end)
	r.NotWritten, r.Unknown.From = Range{r.Unknown.From, from}, from
	return r
}

// atLargeEnd is the end of what may still reach a broker.
func (w *Window) atLargeEnd() uint64 {
	end := w.end
	for end > w.una && !w.at(end-1).atLarge() {
		end--
	}
	return end
}

// disown makes everything before end Unknown.
func (w *Window) disown(end uint64) Resolution {
	w.mustBeDrained("Disown")
	r := Resolution{Unknown: Range{w.una, end}, Drained: true}
	if r.Unknown.Len() > 0 {
		w.unsettled = true
	}
	w.una, w.max = end, max(w.max, end)
	w.bump()
	return r
}

// NewLog is for a topic that was deleted and created again: what is in doubt
// becomes Unknown and offsets begin anew. Until a success there no other
// producer ID may be taken, for only the epoch holds back a straggler from the
// old log, whatever became of its batch. Nothing may be outstanding.
func (w *Window) NewLog() Resolution {
	w.lastEnd = -1
	r := w.Disown()
	w.unsettled = w.unsettled || w.producerID >= 0 // the first ID fences nothing
	return r
}

// Fence stops the partition for good: a newer epoch of the producer ID exists,
// so that someone else owns it. Everything unresolved is given up as by Abort,
// but absence of a batch proves nothing here: the other owner may have filled
// the gap, and what we sent behind it fits.
func (w *Window) Fence() Resolution {
	w.Lost()
	return w.giveUp(w.atLargeEnd())
}

// Abort gives up everything: what may be in the log is Unknown, the rest is
// NotWritten. The connection must be abandoned; attempts that are outstanding
// count as Lost.
func (w *Window) Abort() Resolution {
	w.Lost()
	return w.giveUp(w.doubtEnd())
}

func (w *Window) giveUp(doubtEnd uint64) Resolution {
	if w.resumed {
		doubtEnd = w.end
	}
	r := Resolution{Unknown: Range{w.una, doubtEnd}, Drained: true}
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
	Resumed            bool // see Resume
}

// State returns a copy of the Window's state.
func (w *Window) State() State {
	s := State{
		ProducerID: w.producerID, Epoch: w.epoch, Next: w.next,
		Una: w.una, Nxt: w.nxt, Max: w.max, End: w.end,
		Outstanding: w.outstanding, Limits: w.limits,
		Phase: w.phase.String(), InDoubt: w.InDoubt(), Resumed: w.resumed,
	}
	if w.una < w.max {
		s.Sequences = w.next.Distance(w.at(w.una).base)
	}
	return s
}

// NeedsProducerID reports that the epochs of this one are running out.
func (w *Window) NeedsProducerID() bool { return w.epoch >= renewEpoch }
