package throttle

// variant is a Window with one of its rules taken out, to see that the checker
// notices. The zero variant is the Window as it is.
type variant struct {
	onBound          func(w *Window)
	onLost           func(w *Window)
	onPeek           func(w *Window)
	onHold           func(w *Window, s Send) Hold
	onSettle         func(w *Window, i uint64, a Answer, offset int64) Resolution
	onExpire         func(w *Window) Resolution
	onHear           func(w *Window, r Report) Finding
	readsAll         bool // also what is not replicated
	neverRecuts      bool
	believes         bool // the leader epoch of a success is what metadata said
	trustsHint       bool
	deafToForgetting bool
	skipsRegate      bool // on a new leader epoch
	alwaysRemembers  bool
	onNewLog         func(w *Window) Resolution
	onStateMayBeGone func(w *Window)
}

func (v *variant) newLog(w *Window) Resolution {
	if v.onNewLog != nil {
		return v.onNewLog(w)
	}
	return w.NewLog()
}

func (v *variant) stateMayBeGone(w *Window) {
	if v.onStateMayBeGone != nil {
		v.onStateMayBeGone(w)
		return
	}
	w.StateMayBeGone()
}

func (v *variant) bound(w *Window) {
	if v.onBound != nil {
		v.onBound(w)
	}
}

func (v *variant) lost(w *Window) {
	if v.onLost != nil {
		v.onLost(w)
	}
}

func (v *variant) peek(w *Window) (Send, Hold) {
	if v.onPeek != nil {
		v.onPeek(w)
	}
	s, h := w.Peek()
	if h == Ready && v.onHold != nil {
		h = v.onHold(w, s)
	}
	return s, h
}

func (v *variant) settle(w *Window, i uint64, a Answer, offset int64) Resolution {
	if v.onSettle != nil {
		return v.onSettle(w, i, a, offset)
	}
	return w.Settle(i, a, offset)
}

func (v *variant) expire(w *Window) Resolution {
	if v.onExpire != nil {
		return v.onExpire(w)
	}
	return w.Expire()
}

func (v *variant) hear(w *Window, r Report) Finding {
	if v.onHear != nil {
		return v.onHear(w, r)
	}
	return w.Hear(r)
}

var (
	noGate = variant{onBound: func(w *Window) { w.phase = open }}

	newInReplay = variant{onPeek: func(w *Window) {
		if w.phase == sweep && w.nxt == w.sweepEnd && w.sweepEnd < w.end {
			w.sweepEnd++
		}
	}}

	resendUndrained = variant{onSettle: func(w *Window, i uint64, a Answer, offset int64) Resolution {
		r := w.Settle(i, a, offset)
		if w.phase == drain {
			w.phase, w.nxt = open, w.una
		}
		return r
	}}

	renumbers = variant{onLost: func(w *Window) { w.begin(w.epoch + 1) }}

	expiresHeadOnly = variant{onExpire: func(w *Window) Resolution {
		if !w.InDoubt() {
			return w.Expire()
		}
		w.una++
		w.max = max(w.max, w.una)
		w.rewind()
		return Resolution{Unknown: Range{w.una - 1, w.una}}
	}}

	newIDOverUnknown = variant{onExpire: func(w *Window) Resolution {
		r := w.Expire()
		w.producerID++
		w.begin(0)
		return r
	}}

	stopsAtFirstRefusal = variant{onSettle: func(w *Window, i uint64, a Answer, offset int64) Resolution {
		r := w.Settle(i, a, offset)
		if w.phase == sweep || w.phase == vouch {
			w.rewind()
		}
		return r
	}}

	boundByDistance = variant{onHold: func(w *Window, s Send) Hold {
		e := w.at(s.Batch)
		if !s.First && e.base.Add(e.records-1).Distance(w.at(w.una).base) >= w.limits.Sequences {
			return HoldSequences
		}
		return Ready
	}}

	outOfOrderIsAbsent = variant{onSettle: func(w *Window, i uint64, a Answer, offset int64) Resolution {
		if a == OutOfOrder {
			w.at(i).doubt = false
		}
		return w.Settle(i, a, offset)
	}}

	duplicateIsCommitted = variant{onSettle: func(w *Window, i uint64, a Answer, offset int64) Resolution {
		if a == Duplicate {
			a = Success
		}
		return w.Settle(i, a, offset)
	}}

	// A straggler behind a batch that is absent may still land once that batch
	// is sent again, so its doubt must outlive the absence.
	absenceEndsDoubt = variant{onLost: func(w *Window) {
		if w.una < w.max && !w.at(w.una).doubt {
			for i := w.una; i < w.max; i++ {
				w.at(i).doubt = false
			}
		}
	}}

	vouchesUnknown = variant{onSettle: func(w *Window, i uint64, a Answer, offset int64) Resolution {
		w.acked = true
		return w.Settle(i, a, offset)
	}}

	reusesSequences = variant{onExpire: func(w *Window) Resolution {
		r, epoch := w.Expire(), w.epoch
		if r.NotWritten.Len() > 0 && epoch > 0 {
			w.next, w.acked = 1, true
			w.epoch = epoch - 1
		}
		return r
	}}

	// Without the gate a hint alone must not move the replay in an epoch that
	// no broker is known to have heard of.
	noGateAtFirst = variant{onBound: func(w *Window) {
		if w.max == 0 {
			w.phase = open
		}
	}}
	hintBeforeSuccess = variant{onBound: noGateAtFirst.onBound, onHear: func(w *Window, r Report) Finding {
		acked := w.acked
		w.acked = true
		f := w.Hear(r)
		w.acked = acked
		return f
	}}

	hintForEver = variant{onHear: func(w *Window, r Report) Finding {
		w.deaf = false
		return w.Hear(r)
	}}

	zombieIsBelieved = variant{onHear: func(w *Window, r Report) Finding {
		r.Current = true
		return w.Hear(r)
	}}

	ignoresDistance = variant{onPeek: func(w *Window) { w.limits.Sequences = MaxWindow }}

	disownsUpToAGap = variant{onNewLog: func(w *Window) Resolution {
		w.lastEnd = -1
		r := w.disown(w.doubtEnd())
		w.unsettled = true
		return r
	}}

	// What a resumed Window may do after a success only, done without one.
	vouchesUnproved = variant{onSettle: func(w *Window, i uint64, a Answer, offset int64) Resolution {
		return asIfAcked(w, a, w.phase != gate || w.doubtEnd() <= w.una+1, func() Resolution { return w.Settle(i, a, offset) })
	}}
	sweepsUnproved = variant{onSettle: func(w *Window, i uint64, a Answer, offset int64) Resolution {
		return asIfAcked(w, a, w.phase == gate && w.doubtEnd() > w.una+1, func() Resolution { return w.Settle(i, a, offset) })
	}}
	placesUnproved = variant{onHear: func(w *Window, r Report) Finding {
		acked := w.acked
		w.acked = true
		f := w.Hear(r)
		w.acked = acked
		return f
	}}
	pauseChangesNothing = variant{onStateMayBeGone: func(w *Window) {
		acked := w.acked
		w.StateMayBeGone()
		w.acked = acked
	}}
	silenceChangesNothing = variant{onHear: func(w *Window, r Report) Finding {
		acked := w.acked
		f := w.Hear(r)
		w.acked = acked
		return f
	}}
	countsOldSuccesses = variant{onSettle: func(w *Window, i uint64, a Answer, offset int64) Resolution {
		r := w.Settle(i, a, offset)
		w.acked = w.acked || a == Success
		return r
	}}

	cutsAsBefore    = variant{neverRecuts: true}
	resumesAsFirst  = variant{onBound: func(w *Window) { w.resumed = false }}
	newEpochResumed = variant{onExpire: func(w *Window) Resolution {
		w.resumed = false
		r := w.Expire()
		if r.Unknown.Len() == 0 {
			r.Unknown, r.NotWritten = r.NotWritten, Range{}
		}
		return r
	}}
	deafAndLost = variant{onHear: func(w *Window, r Report) Finding {
		if f := w.Hear(r); f != FoundAhead || !w.deaf {
			return f
		}
		return FoundNothing
	}}

	believesMetadata = variant{believes: true}
	readsPastTheMark = variant{readsAll: true}

	hintIsCommitted = variant{trustsHint: true}
	gateOnce        = variant{deafToForgetting: true}
	skipsRegate     = variant{skipsRegate: true}
	alwaysRemembers = variant{alwaysRemembers: true}
	neverRemembers  = variant{onHear: func(w *Window, r Report) Finding {
		r.Remembers = false
		return w.Hear(r)
	}}
)

// asIfAcked takes an answer, in some cases as if the epoch had had a success.
func asIfAcked(w *Window, a Answer, in bool, settle func() Resolution) Resolution {
	acked := w.acked
	w.acked = acked || in
	r := settle()
	w.acked = acked || a == Success
	return r
}
