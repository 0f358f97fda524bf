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
	return flight.Sharing{Alone: l.alone(), Since: l.verifiedSince(), Dated: l.mayBeForgotten()}
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

// showsAll is flight.Memory's.
func (p *partition) showsAll(now time.Time) bool {
	return p.memory.ShowsAll(p, p.topic.lane.sharing(), p.pos != (position{offset: -1}), now)
}

// verifiedBySuccess notes what the question before a replay showed, now that the
// broker that answered it has given a success. One success alone shows nothing: it
// may be the answer to a duplicate of what another owner wrote long ago, behind
// which there is more.
func (p *partition) verifiedBySuccess() {
	if q := &p.inquiry; q.clear && p.memory.Newer(q.put) {
		p.memory.Verify(q.put, 0)
	}
	p.inquiry.clear = false
}
