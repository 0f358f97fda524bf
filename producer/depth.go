package producer

import "time"

const (
	firstDepth = 128 // requests; enough for most round trips before anything is known
	leastDepth = 8
	mostDepth  = 1 << 14
	// depthMemory is how long a shortest round trip is believed. Without an end a
	// route that got longer would look like a queue for ever.
	depthMemory = 30 * time.Second
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
	shortest time.Duration // answer time of late, 0: not known
	since    time.Time     // when it was last measured anew

	// This round, which is over when what was written after its begin is
	// answered:
	began time.Time
	best  time.Duration // shortest answer time
	held  bool          // the limit kept something back
}

func newDepth() depth { return depth{limit: firstDepth} }

// answered takes the time that one request took.
func (d *depth) answered(written, now time.Time) {
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
	switch {
	case d.shortest == 0 || d.best < d.shortest:
		d.shortest = d.best
		if d.since.IsZero() {
			d.since = now
		}
	case now.Sub(d.since) > depthMemory:
		// With half of it in flight no queue is left to measure.
		d.shortest, d.since, d.limit = 0, now, max(d.limit/2, leastDepth)
		return
	}
	next := (d.limit + d.useful()) / 2
	if next < d.limit || d.held {
		d.limit = min(max(next, leastDepth), mostDepth)
	}
}

// useful is the limit that the round speaks for.
func (d *depth) useful() int {
	share := float64(d.shortest) / float64(d.best) // of the time that was not spent waiting
	if share > 0.9 {
		return 2 * d.limit
	}
	slack := leastDepth + d.limit/4
	return int(float64(d.limit)*share) + slack
}
