package flight

import (
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// Answer is what came back for one attempt.
type Answer struct {
	Code       retry.Code
	BaseOffset int64 // -1: none
	Missing    bool  // the response left the partition out (K31)
	Unsent     bool  // no byte of the request was written
}

// Verdict is what an Answer means.
type Verdict struct {
	// Attempt is what the window is told, which knows nothing of codes.
	Attempt throttle.Answer

	Tries     uint8 // answers in a row that are only worth a few tries
	Exhausted bool  // and this was the last of them
	Large     bool  // the batch is larger than the broker takes
	Gone      bool  // the broker does not know the producer ID
	NewID     bool  // nothing can be written under the producer ID any more
	Fenced    bool  // another owner has the producer ID
	refresh   bool
	backoff   bool
}

// Judge says what an answer means for a batch that has had this many answers in a
// row that are only worth a few tries.
func Judge(a Answer, tries uint8) Verdict {
	d := a.decide()
	v := Verdict{Large: d.Split, Gone: d.Gone, NewID: d.NewID, Fenced: d.Stop, refresh: d.Refresh, backoff: d.Backoff}
	var fate retry.Fate
	v.Tries, fate, v.Exhausted = d.Count(tries)
	v.Attempt = attempt(fate)
	return v
}

func (a Answer) decide() retry.Decision {
	switch {
	case a.Unsent:
		return retry.Lost(0)
	case a.Missing:
		return retry.Lost(-1)
	}
	return retry.Classify(a.Code, a.BaseOffset)
}

func attempt(fate retry.Fate) throttle.Answer {
	switch fate {
	case retry.Committed:
		return throttle.Success
	case retry.Duplicate:
		return throttle.Duplicate
	case retry.OutOfOrder:
		return throttle.OutOfOrder
	case retry.Refused:
		return throttle.Refused
	case retry.NotAppended, retry.Forgotten, retry.Fenced:
		return throttle.NotAppended
	}
	return throttle.Uncertain
}

// GivesUp reports whether the batch is given up although it may be in the log.
// Only the oldest one is: one behind it gets another try once it is the oldest.
func (v Verdict) GivesUp(oldest bool) bool {
	return v.Exhausted && oldest && v.Attempt == throttle.Uncertain
}

// Refreshes reports whether metadata may have changed.
func (v Verdict) Refreshes(r throttle.Resolution) bool { return v.refresh || r.Stalled }

// Pauses reports whether the partition waits before it sends again. What the old
// leader still has to say is no reason to keep the new one waiting (KIP-951).
func (v Verdict) Pauses(r throttle.Resolution, moving bool) bool {
	return (v.backoff || r.Stalled) && !moving
}

// Halve says how a batch that is too large is cut: how many records the first
// half has. A single record cannot be helped.
func Halve(records int32) (left int32, ok bool) { return (records + 1) / 2, records > 1 }
