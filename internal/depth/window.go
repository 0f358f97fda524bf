package depth

import "time"

// window is a time of measuring. It begins with the first answer to what was written
// after the limit changed, and is of whole round trips: what is written in bursts is
// answered in bursts, and a part of a round trip has one burst too many or too few.
type window struct {
	began   time.Time // zero: still to come
	round   time.Time // the last round trip began
	answers int
	bytes   int64
	took    time.Duration // all answers
	longest time.Duration // one of them
	held    bool          // the limit kept something back
	starved bool          // there was room, and nothing to send
}

// add reports whether a round trip is over.
func (w *window) add(written, now time.Time, took time.Duration, bytes int64) bool {
	w.longest = max(w.longest, took)
	if w.began.IsZero() {
		w.began, w.round = now, now
		return false
	}
	w.answers++
	w.took += took
	w.bytes += bytes
	if written.Before(w.round) {
		return false
	}
	w.round = now
	return true
}

// cost is the time that answers took, for a byte. By Little's law cost * rate is the
// number of requests in flight.
func (w *window) cost() float64 { return w.took.Seconds() / float64(w.bytes) }
