package depth

import "time"

const (
	// Requests that are not full, and for which no answer made room, come no
	// faster than so many in a round trip.
	paces     = 8
	leastPace = 200 * time.Microsecond // what a request costs both sides, with its answer
	mostPace  = time.Millisecond
	// The shortest answer time is that of one or two such spans: a stall is not
	// believed for ever, and neither is a route that got longer.
	memory = 15 * time.Second
)

// pacer knows the shortest answer time of late.
type pacer struct {
	shortest, before time.Duration // in this span and in the one before, 0: not known
	since            time.Time     // the span began
}

func (p *pacer) remember(took time.Duration, now time.Time) {
	if now.Sub(p.since) > memory {
		p.before, p.shortest, p.since = p.shortest, 0, now
	}
	if p.shortest == 0 || took < p.shortest {
		p.shortest = took
	}
}

// Shortest is the shortest answer time of late, 0 if there was none.
func (p *pacer) Shortest() time.Duration {
	if p.before != 0 && (p.shortest == 0 || p.before < p.shortest) {
		return p.before
	}
	return p.shortest
}

// Pace is the least time between two requests that have room for more, where
// somebody waits for each record or there is no linger. What a record waits for it
// is little beside the round trip, and without it each record would be a request.
func (p *pacer) Pace() time.Duration { return min(max(p.Shortest()/paces, leastPace), mostPace) }
