package producer

import "fmt"

// Stamps says whether the records of a lane bring timestamps of their own
// (Record.Timestamp). Brokers forget a producer by those (KIP-854).
type Stamps uint8

const (
	// StampsUnknown: the lane has had no record.
	StampsUnknown Stamps = iota
	// StampsNone: none does. They get the time at which they are produced.
	StampsNone
	// StampsOwn: all do.
	StampsOwn
)

// String returns "unknown", "none" or "own".
func (s Stamps) String() string {
	return [...]string{"unknown", "none", "own"}[min(s, StampsOwn)]
}

var errMixedStamps = fmt.Errorf("%w: in a lane either all records bring a timestamp of their own or none does", ErrInvalidRecord)

// stamped notes whether a record brings a timestamp, and refuses one that is not
// like those before it.
func (l *Lane) stamped(own bool) error {
	if !l.stops {
		return nil
	}
	want := uint32(StampsNone)
	if own {
		want = uint32(StampsOwn)
	}
	if l.stamps.Load() != want && !l.stamps.CompareAndSwap(uint32(StampsUnknown), want) && l.stamps.Load() != want {
		return errMixedStamps
	}
	return nil
}

// mayBeForgotten reports whether leaders may at any moment forget what another
// owner has written: its records are dated, or it is not known yet what the records
// of this lane are like.
func (l *Lane) mayBeForgotten() bool { return Stamps(l.stamps.Load()) != StampsNone }
