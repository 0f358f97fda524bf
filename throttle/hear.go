package throttle

import "sort"

// Report is what a broker says of our producer ID in this partition
// (DescribeProducers, KIP-664). It is a hint, never a proof: followers and
// deposed leaders answer too, and what is not replicated is included.
type Report struct {
	Known bool  // the broker has an entry for the producer ID
	Epoch int32 // of that entry
	Last  int32 // sequence of the last record of that epoch, -1: none

	// Current: the broker leads under a leader epoch that is not older than
	// the one in which the last success was given, or the last batch Seen.
	// That is the epoch in which that broker led then, or a later one. What
	// metadata said when the connection was made may be older than that, and
	// then a zombie passes for current.
	Current bool

	// Remembers: were anything behind what is acknowledged in the broker's log,
	// it would know of it still, for a leader or the log showed less recently
	// enough. Only a resumed Window looks at it. It is never true while records
	// with old timestamps may have been written there: see Caution.
	Remembers bool
}

// Finding is what a Report means for a Window.
type Finding uint8

const (
	// FoundNothing: go on as without asking.
	FoundNothing Finding = iota
	// FoundPlace: the replay begins further on, at the batch that the broker
	// has as its last.
	FoundPlace
	// FoundLoss: the broker is behind what it acknowledged. It lost data, as
	// in an unclean election. Only a current broker can say so.
	FoundLoss
	// FoundGone: the broker has forgotten the producer, and would take any
	// batch as its first. Nothing in doubt: StateMayBeGone. Otherwise read the
	// log and tell Seen, or Disown. A resumed Window can only Disown; it goes on
	// from una if the broker Remembers, for then nothing is in its log that it
	// does not know of. Only a current broker can say so.
	FoundGone
	// FoundOther: someone else uses the producer ID, see Fence.
	FoundOther
	// FoundInside: the former process of a resumed Window ended inside the
	// oldest batch. Recut it there, see Inside.
	FoundInside
	// FoundAhead: the former process of a resumed Window got past the oldest
	// batch, and there is none that begins where it ended. Read the log up to
	// the high watermark, see Read, and ask again.
	FoundAhead
)

func (f Finding) String() string {
	return [...]string{"nothing", "place", "loss", "gone", "other", "inside", "ahead"}[f]
}

// Hear takes what the bound broker says of the producer ID. The question must
// have been put when nothing was outstanding, and nothing written since. Hear
// finds nothing unless una is about to go alone: bound, at the gate, nothing
// outstanding (Regate leads there).
//
// Hear changes nothing but where the replay begins. With FoundPlace the batch
// that the broker has as its last goes alone in the place of una; its success
// proves everything before it, which then need not cross the wire again. If it
// fails, the replay begins at una after all, and there is no FoundPlace again
// before the next success: a broker that is wrong each time would keep una from
// ever being sent.
//
// On a resumed Window it is the batch behind the broker's last record that goes
// alone, for a broker need not recognise what a former process wrote. What lies
// before it counts as written and in doubt from then on, though it was not sent.
// FoundNothing for a Report that is neither Known nor Remembers is a broker that
// does not lead. Nothing may be written to it: the owner asks again, or another.
func (w *Window) Hear(r Report) Finding {
	if w.fenced || !w.bound || w.producerID < 0 || w.phase != gate || w.outstanding > 0 {
		return FoundNothing
	}
	w.nxt = w.una // the latest report decides
	switch {
	case r.Known && r.Epoch > int32(w.epoch):
		return FoundOther
	case !r.Known || r.Epoch < int32(w.epoch) || r.Last < 0:
		return w.hearNothing(r)
	}
	return w.hearLast(r)
}

// hearNothing is Hear for a broker that knows nothing of this epoch. It would
// take any batch as its first.
func (w *Window) hearNothing(r Report) Finding {
	w.acked = w.acked && !w.resumed // one such broker leads, or may come to lead
	switch {
	case !r.Current, !r.Known && r.Remembers && w.resumed:
		return FoundNothing
	case !r.Known && (w.anchored || w.resumed):
		return FoundGone
	case w.anchored:
		return FoundLoss
	}
	return FoundNothing
}

// hearLast is Hear for a broker that has records of this epoch.
func (w *Window) hearLast(r Report) Finding {
	base := w.baseOf(w.una)
	past := Sequence(r.Last).Add(1).Distance(base) // records behind what was acknowledged
	switch {
	case past == 0 && (w.anchored || w.resumed):
		return FoundNothing // una is next
	case w.resumed && past < MaxWindow:
		return w.hearFormer(past)
	case 0 < past && past <= w.next.Distance(base):
		return w.place(base.Add(past))
	case w.anchored && past >= MaxWindow && r.Current:
		return FoundLoss
	case w.anchored && past >= MaxWindow:
		return FoundNothing
	}
	return FoundOther
}

// place looks for the batch that ends where the broker is.
func (w *Window) place(next Sequence) Finding {
	m := w.search(next) - 1
	if w.baseOf(m+1) != next {
		return FoundOther // inside a batch
	}
	// Where the epoch has had no success a broker that knows nothing of it
	// would take m as its first batch. The gate leaves no two in doubt there;
	// this does not rely on it.
	if m == w.una || m >= w.doubtEnd() || !w.acked || w.deaf {
		return FoundNothing
	}
	w.nxt = m
	return FoundPlace
}

// baseOf is the sequence at which batch i begins, at most the first that has
// none yet.
func (w *Window) baseOf(i uint64) Sequence {
	if i == w.max {
		return w.next
	}
	return w.at(i).base
}

// Una is the sequence of the oldest record without an outcome, or of the next
// one if all have one.
func (w *Window) Una() Sequence { return w.baseOf(w.una) }

// search returns the first written batch that begins at sequence s or behind
// it, max if there is none. s must not lie before una.
func (w *Window) search(s Sequence) uint64 {
	base := w.baseOf(w.una)
	d := s.Distance(base)
	n := sort.Search(int(w.max-w.una), func(n int) bool {
		return w.at(w.una+uint64(n)).base.Distance(base) >= d
	})
	return w.una + uint64(n)
}

// Find returns the number of the unresolved batch that was written with this
// first sequence in this epoch, for who reads the log.
func (w *Window) Find(epoch int16, base Sequence) (i uint64, ok bool) {
	if epoch != w.epoch || w.una == w.max {
		return 0, false
	}
	i = w.search(base)
	return i, i < w.max && w.at(i).base == base
}

// Seen says that batch i, which has been written and is unresolved, was read in
// the log below the high watermark, at that base offset. It proves what a
// success would: everything up to i. But no broker has answered for it, so the
// Window is at the gate afterwards. The broker's state may even be gone; that
// something of the epoch counts as acknowledged is what leads on to a new one
// then, see StateMayBeGone. Nothing may be outstanding.
func (w *Window) Seen(i uint64, offset int64) Resolution {
	w.mustBeDrained("Seen")
	if w.resumed && i < w.end {
		w.number(i + 1) // it was not sent, and the former process wrote it
	}
	if i < w.una || i >= w.max {
		panic("throttle: Seen of a batch that is resolved, or was never written")
	}
	var r Resolution
	w.confirm(i, offset, &r)
	w.rewind()
	r.Drained = true
	return r
}
