package throttle

// DefaultSequences is max.in.flight.sequence.number.per.connection where
// neither the broker nor the user names another (KIP-758's default).
const DefaultSequences = 10_000_000

// Limits is how far a Window may run ahead of its oldest unresolved batch.
type Limits struct {
	// Sequences is the number of records: what the broker of the connection
	// named (KIP-758), or less. Outside 1..MaxWindow it is DefaultSequences.
	Sequences int32

	// Batches caps the number of batches as well. 0 or less is no cap.
	Batches int32
}

func (l Limits) normal() Limits {
	if l.Sequences < 1 || l.Sequences > MaxWindow {
		l.Sequences = DefaultSequences
	}
	return l
}
