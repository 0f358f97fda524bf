package retry

// Outcome is what became of a record. It has three values and never fewer: a
// record whose last attempt got no answer is not known to be absent, and
// calling it failed invites the caller to write it twice.
type Outcome uint8

const (
	// Unknown is the zero value, the only safe thing to say when nothing is
	// known: the record may be in the log, or may appear there later.
	Unknown Outcome = iota
	// NotWritten: the record is not in the log and will not appear there
	// from any attempt made so far. Sending it again is safe.
	NotWritten
	// Written: the record is in the log once, and committed.
	Written
)

// String returns "unknown", "not written" or "written".
func (o Outcome) String() string {
	switch o {
	case NotWritten:
		return "not written"
	case Written:
		return "written"
	}
	return "unknown"
}
