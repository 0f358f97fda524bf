package producer

import "time"

const (
	firstDepth = 64 // requests
	leastDepth = 4
	mostDepth  = 1 << 14
	unqueued   = 0.9 // share of an answer's time, above which nothing waits
	// Requests that are not full, and for which no answer made room, come no
	// faster than so many in a round trip.
	paces     = 8
	leastPace = 200 * time.Microsecond // what a request costs both sides, with its answer
	mostPace  = time.Millisecond
	// For so long a shortest answer time is believed. Without an end a route that
	// got longer would look like a queue for ever; and at first, when brokers are
	// cold and everything comes at once, it is hardly ever right.
	firstMemory, mostMemory = time.Second, time.Minute
)

// depth decides how many requests a connection carries at once: as many as
// bring something. A broker serves one request of a connection at a time, so
// what goes beyond round trip / time of service only waits there. Here it does
// more good: batches of more partitions join the next request, and a replay has
// less to send again.
//
// How much waits is seen by the time that answers take, over the shortest they
// ever took. The rule is that of FAST TCP (Jin, Wei, Low 2004), once a round
// trip: what is in flight shrinks by the share of the time spent waiting, and
// grows by a slack that keeps the broker busy.
type depth struct {
	limit    int           // requests
	fixed    bool          // by the user
	shortest time.Duration // answer time of late, 0: not known
	since    time.Time     // when it was last measured anew
	memory   time.Duration // for so long it is believed

	// This round, which is over when what was written after its begin is
	// answered:
	began time.Time
	best  time.Duration // shortest answer time
	held  bool          // the limit kept something back
	skip  int           // rounds that still show what was before the limit changed

	// While the shortest answer time is measured anew next to nothing is in
	// flight, so that nothing waits.
	measuring phaseOfMeasuring
	before    int // the limit
}

type phaseOfMeasuring uint8

const (
	notMeasuring phaseOfMeasuring = iota
	draining                      // what was written before is answered
	measuring
)

func newDepth(fixed int, now time.Time) depth {
	if fixed > 0 {
		return depth{limit: fixed, fixed: true}
	}
	return depth{limit: firstDepth, since: now, memory: firstMemory}
}

// answered takes the time that one request took.
func (d *depth) answered(written, now time.Time) {
	if d.fixed {
		return
	}
	took := max(now.Sub(written), 1)
	if d.best == 0 || took < d.best {
		d.best = took
	}
	if written.Before(d.began) {
		return
	}
	d.endRound(now)
	d.began, d.best, d.held = now, 0, false
}

func (d *depth) endRound(now time.Time) {
	if d.shortest == 0 || d.best < d.shortest {
		d.shortest = d.best // at once: what was measured last may have been a stall
	}
	switch d.measuring {
	case draining:
		d.measuring = measuring
		return
	case measuring:
		d.measuring, d.shortest, d.since, d.limit = notMeasuring, d.best, now, d.before
		d.memory = min(2*d.memory, mostMemory)
		d.skip = 2 // the line is empty, and then fills
		return
	}
	if d.skip > 0 {
		d.skip--
		return
	}
	switch stale := now.Sub(d.since) > d.memory; {
	case stale && d.share() > unqueued:
		d.since = now // it is seen again, with all that is in flight
	case stale:
		d.measuring, d.before, d.limit = draining, d.limit, leastDepth
		return
	}
	next := d.useful()
	if next < d.limit || next > d.limit && d.held {
		d.limit, d.skip = min(max(next, leastDepth), mostDepth), 1
	}
}

// useful is the limit that the round speaks for: twice the one there is while
// nothing waits, else half way to what FAST TCP would have.
func (d *depth) useful() int {
	if d.share() > unqueued {
		return 2 * d.limit
	}
	return (d.limit + int(float64(d.limit)*d.share()) + d.slack()) / 2
}

// share is the part of the time of an answer that it was not waiting.
func (d *depth) share() float64 { return float64(d.shortest) / float64(d.best) }

// pace is the least time between two requests that have room for more, where
// somebody waits for each record or there is no linger. What a record waits for it
// is little beside the round trip, and without it each record would be a request.
func (d *depth) pace() time.Duration { return min(max(d.shortest/paces, leastPace), mostPace) }

// slack is how many requests may wait at the broker: some time's work, so that
// it is not idle when the next one is late, and some for answers that take longer
// now and then.
func (d *depth) slack() int {
	const queue = 2 * time.Millisecond
	service := d.best / time.Duration(d.limit) // at most, by Little's law
	return min(2+int(queue/max(service, 1)), 32) + d.limit/8
}
