package throttle

// Answer is what became of one attempt to write a batch.
type Answer uint8

const (
	// Success: in the log, and replicated (acks=all).
	Success Answer = iota
	// Duplicate: DUPLICATE_SEQUENCE_NUMBER. Appended, by this or an earlier
	// attempt, and *not known to be replicated*: it proves nothing yet.
	Duplicate
	// OutOfOrder: OUT_OF_ORDER_SEQUENCE_NUMBER. This attempt was not
	// appended. An earlier one may have been.
	OutOfOrder
	// NotAppended: this attempt was not appended; the next one may be.
	NotAppended
	// Refused: this attempt was not appended, and the same bytes will not be.
	Refused
	// Uncertain: no answer, or one that leaves open what happened.
	Uncertain
)

func (a Answer) String() string {
	return [...]string{"success", "duplicate", "out of order", "not appended", "refused", "uncertain"}[a]
}

// Range is the batches from From up to, not including, To.
type Range struct{ From, To uint64 }

// Len is the number of batches in the range.
func (r Range) Len() uint64 { return r.To - r.From }

// Has reports whether batch i is in the range.
func (r Range) Has(i uint64) bool { return r.From <= i && i < r.To }

// Alarm is something that cannot happen while broker and client keep the rules.
type Alarm uint8

const (
	NoAlarm Alarm = iota
	// AlarmOffset: a success lies nearer to the last one than there are
	// records between them. The partition lost acknowledged data, as after an
	// unclean election.
	AlarmOffset
	// AlarmGap: a batch was accepted although one before it is known to be
	// absent. The broker had forgotten the producer, and the log has a gap.
	AlarmGap
)

func (a Alarm) String() string { return [...]string{"none", "offset", "gap"}[a] }

// Resolution is what an input to a Window decided. The ranges are disjoint;
// together they are the oldest unresolved batches.
type Resolution struct {
	NotWritten Range // surely not in the log, now or later
	Unknown    Range // may be in the log
	Written    Range // in the log and replicated

	// FirstOffset is the base offset of Written.From and LastOffset that of
	// the last batch of Written. Where FirstOffset is not -1 and nobody else
	// wrote in between, the batches follow each other without a gap.
	FirstOffset, LastOffset int64

	// Drained: a fault is over in so far as nothing is outstanding any more.
	Drained bool
	// Stalled: a replay was refused from beginning to end. Another one makes
	// sense after a pause, and perhaps at another broker.
	Stalled bool
	// HeadRefused: the oldest batch was refused for good and is surely not in
	// the log. The owner calls Drop or Split.
	HeadRefused bool
	Alarm       Alarm
}

// Settle takes the answer to the outstanding attempt of batch i; offset is the
// base offset of a Success, -1 if the broker did not say. Answers must come in
// the order of the writes, as a connection gives them.
func (w *Window) Settle(i uint64, a Answer, offset int64) Resolution {
	e := w.at(i)
	if i < w.una || i >= w.max || !e.out {
		panic("throttle: answer to a batch that is not outstanding")
	}
	if a != Success {
		w.misled()
	}
	e.out = false
	w.outstanding--
	var r Resolution
	switch a {
	case Success:
		w.confirm(i, offset, &r)
	case Duplicate:
		e.doubt = true
		w.passOver(i, a, &r)
	case OutOfOrder:
		w.passOver(i, a, &r)
	case Refused:
		e.refused = !e.doubt
		w.passOver(i, a, &r)
	case NotAppended:
		w.phase = drain
	case Uncertain:
		e.doubt = true
		w.phase = drain
	}
	w.afterAnswer(&r)
	return r
}

// Lost says that the connection is gone: every outstanding attempt may be
// executed, now or later.
func (w *Window) Lost() Resolution {
	w.misled()
	for i := w.una; i < w.nxt; i++ {
		if e := w.at(i); e.out {
			e.out, e.doubt = false, true
		}
	}
	w.outstanding, w.bound, w.phase = 0, false, drain
	var r Resolution
	w.afterAnswer(&r)
	return r
}

// misled notes that the outstanding attempt is no success. If it began a replay
// behind una, the next one begins at una.
func (w *Window) misled() {
	if w.phase == gate && w.outstanding > 0 && w.nxt > w.una+1 {
		w.deaf, w.phase = true, drain
	}
}

// confirm resolves everything up to batch i. Only this does: the log holds one
// chain of this epoch, and a success says that it is replicated up to here.
func (w *Window) confirm(i uint64, offset int64, r *Resolution) {
	records := int64(0)
	for k := w.una; k < i; k++ {
		records += int64(w.at(k).records)
		if !w.at(k).doubt {
			r.Alarm = AlarmGap
		}
	}
	r.Written = Range{w.una, i + 1}
	r.FirstOffset, r.LastOffset = offset, offset
	if i > w.una {
		r.FirstOffset = w.offsetBefore(offset, records)
	}
	if offset >= 0 && w.lastEnd >= 0 && offset-w.lastEnd < records && r.Alarm == NoAlarm {
		r.Alarm = AlarmOffset
	}
	if r.Alarm == AlarmGap {
		r.Unknown, r.Written = Range{w.una, i}, Range{i, i + 1}
		r.FirstOffset = offset
	}
	w.lastEnd = -1
	if offset >= 0 {
		w.lastEnd = offset + int64(w.at(i).records)
	}
	w.una, w.anchored, w.acked, w.unsettled = i+1, true, !w.forgettable(), false
	w.resumeAt, w.deaf = 0, false
	switch {
	case w.phase == drain:
	case w.cautious:
		w.phase = drain
	default:
		w.phase = open
	}
}

// offsetBefore is the offset of the first of the given number of records that
// lie between the last success and one at offset: known if nobody else wrote
// there, -1 otherwise.
func (w *Window) offsetBefore(offset, records int64) int64 {
	if offset >= 0 && w.lastEnd >= 0 && offset-w.lastEnd == records {
		return w.lastEnd
	}
	return -1
}

// passOver handles a refusal that in a replay says nothing: the broker may be
// further on.
func (w *Window) passOver(i uint64, a Answer, r *Resolution) {
	switch w.phase {
	case gate, sweep:
		w.lastRefusal = a
		if w.phase == sweep {
			w.resumeAt = i + 1
		}
		w.goOn(r)
	case vouch:
		w.stall(r)
	case open:
		// A duplicate in an open window drains nothing: the next success
		// proves it. Anything else is a fault here.
		if a != Duplicate {
			w.phase = drain
		}
	}
}

// goOn takes the next step of a replay after a refusal.
func (w *Window) goOn(r *Resolution) {
	behind := w.doubtEnd()
	switch {
	// Without acked a broker that knows nothing would take what follows as its
	// first batch. Two in doubt are there then if one was cut anew.
	case w.phase == gate && behind > w.una+1 && w.acked:
		w.phase, w.sweepEnd = sweep, behind
		w.nxt = w.una + 1
		if w.resumeAt > w.nxt && w.resumeAt < behind {
			w.nxt = w.resumeAt
		}
	case w.phase == gate && w.at(w.una).refused:
		w.phase = drain // for good: nothing of this partition is in doubt
	case w.phase == gate && behind == w.una:
		// Nothing is in doubt, and still the broker does not know where we
		// are: it forgot us, or it is behind. A new epoch is safe, but for
		// what may have been taken by a broker that knew nothing of us.
		if w.atLargeEnd() > w.una {
			*r = w.Disown()
		} else {
			w.bump()
		}
		r.Stalled = true
	case w.outstanding > 0 || w.phase == sweep && w.nxt < w.sweepEnd:
		return // more answers, or more to send
	case w.canVouch(behind):
		w.phase, w.nxt = vouch, behind
	default:
		w.stall(r)
	}
}

// canVouch says whether the batch behind all that is in doubt may prove it: any
// broker knows this epoch, and refused even the latest in a way that does not
// say that it is missing.
func (w *Window) canVouch(behind uint64) bool {
	if !w.acked || w.lastRefusal == OutOfOrder || behind == w.end {
		return false
	}
	return behind < w.max || w.room(w.at(behind).records) == Ready
}

// stall ends a replay that brought nothing; the next one begins at the front.
func (w *Window) stall(r *Resolution) {
	w.phase, w.resumeAt = drain, 0
	r.Stalled = true
}

// afterAnswer ends a drain once nothing is outstanding.
func (w *Window) afterAnswer(r *Resolution) {
	if w.outstanding > 0 {
		return
	}
	// In an open window only duplicates are left, and nothing follows that
	// could prove them: una asks again, alone.
	if w.phase == open && w.una < w.nxt && w.hold() != Ready {
		w.phase = drain
		r.Stalled = true
	}
	if w.phase == drain {
		w.rewind()
		r.Drained = true
		r.HeadRefused = w.una < w.max && w.at(w.una).refused && !w.at(w.una).doubt
	}
}

// doubtEnd is the end of what may be in the log: batches in doubt from una on.
// A batch that is surely absent ends it, for nothing behind it fits the log as
// long as it is not sent again.
func (w *Window) doubtEnd() uint64 {
	i := w.una
	for i < w.max && w.at(i).doubt {
		i++
	}
	return i
}
