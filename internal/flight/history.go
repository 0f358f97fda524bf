package flight

import (
	"time"

	"github.com/sluice-kafka/sluice/throttle"
)

// History is what is remembered of the attempts to write a batch. The shell keeps
// it with the batch.
type History struct {
	Attempts int
	First    time.Time // when the first attempt was written
	MayBe    bool      // an attempt may be in the log
	Large    bool      // the latest answer was that it is too large
	Old      bool      // by its timestamps when it was sealed, see Memory
	stamp    int64     // the timestamp by which a broker remembers it, in milliseconds
	Tries    uint8     // answers in a row that are only worth a few tries
}

// Sent notes an attempt that is being written.
func (h *History) Sent(now time.Time) {
	if h.Attempts++; h.Attempts == 1 {
		h.First = now
	}
}

// Answered notes the verdict on an attempt.
func (h *History) Answered(v Verdict) {
	h.Tries, h.Large = v.Tries, v.Large
	h.MayBe = h.MayBe || v.Attempt == throttle.Uncertain || v.Attempt == throttle.Duplicate
}

// Lost notes that the connection died, perhaps with an attempt on it.
func (h *History) Lost() { h.MayBe = h.MayBe || h.Attempts > 0 }

// Part is the history of a part of the batch, which was cut.
func (h *History) Part() History {
	return History{Attempts: h.Attempts, First: h.First, MayBe: h.MayBe}
}

// Queue is the batches of a partition that are sealed and have no outcome, the
// oldest first.
type Queue interface {
	Sealed() int
	History(i int) *History
}
