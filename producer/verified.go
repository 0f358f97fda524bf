package producer

import (
	"time"

	"github.com/sluice-kafka/sluice/internal/flight"
)

// alone reports whether no other process can have the producer ID of the lane:
// it is in no checkpoint yet.
func (l *Lane) alone() bool { return l.resumed == nil && l.marked.Load().IsZero() }

// sharing is what is known of other processes with the producer ID of the lane.
func (l *Lane) sharing() flight.Sharing {
	if !l.stops {
		return flight.Sharing{}
	}
	return flight.Sharing{Alone: l.alone(), Since: l.verifiedSince()}
}

// verifiedSince is what a lane knows of the partitions of which it knows nothing
// better: at its first mark no other process had its producer ID.
func (l *Lane) verifiedSince() time.Time {
	if l.resumed != nil {
		return l.resumed.from.Verified
	}
	return l.marked.Load()
}

// verifiedAt is flight.Memory's for the partitions that have had no record.
func (t *topic) verifiedAt() time.Time { return latest(t.verified.Load(), t.lane.verifiedSince()) }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
