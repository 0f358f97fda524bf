package producer

import (
	"time"

	"github.com/sluice-kafka/sluice/throttle"
)

// verified is when a leader, or the log, last showed that nothing had been
// written behind what a lane has written in a partition, and where the log ended
// then. Whatever was written behind it since is younger. So a leader that knows
// nothing of the producer ID has nothing to have forgotten, as long as that is
// less than its memory reaches back. The time of a checkpoint alone proves
// nothing: another owner may have gone ahead, and its traces be forgotten, while
// this one takes checkpoints of where it stands.
type verified struct {
	at  time.Time
	end int64 // 0: not known

	// What the log was seen to hold of the lane behind what is resolved here:
	// all before next, if anything was seen.
	next throttle.Sequence
	seen bool
	// readBy is the leader whose log was read to its end a moment ago. That
	// settles its next answer, whatever the timestamps of records are.
	readBy acked
}

// alone reports whether no other process can have the producer ID of the lane:
// it is in no checkpoint yet.
func (l *Lane) alone() bool { return l.resumed == nil && l.marked.Load().IsZero() }

// verifiedSince is what a lane knows of the partitions of which it knows nothing
// better: at its first mark no other process had its producer ID.
func (l *Lane) verifiedSince() time.Time {
	if l.resumed != nil {
		return l.resumed.from.Verified
	}
	return l.marked.Load()
}

// verifiedAt is when it was last verified that nothing is behind what the lane
// has written.
func (p *partition) verifiedAt(now time.Time) time.Time {
	if p.topic.lane.alone() {
		return now
	}
	return latest(p.verified.at, p.topic.lane.verifiedSince())
}

// verifiedAt is partition.verifiedAt for the partitions that have had no record.
func (t *topic) verifiedAt() time.Time { return latest(t.verified.Load(), t.lane.verifiedSince()) }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// showsAll reports whether a leader that knows nothing of the producer ID shows
// by that that nothing is in the log behind what the lane has written: were there
// something, it would still remember it.
func (p *partition) showsAll(now time.Time) bool {
	if !p.pr.remembered(p.verifiedAt(now), now) {
		return false
	}
	alone := p.topic.lane.alone()
	for _, b := range p.sealed.all() {
		switch {
		case b.old && (b.maybe || !alone):
			return false // a broker forgets by the timestamps of records, at any moment
		case b.maybe && (p.pos != (position{offset: -1}) || !p.pr.remembered(b.first, now)):
			return false // it should know the producer by what was written before
		}
	}
	return true
}

// verifiedBySuccess notes what the question before a replay showed, now that the
// broker that answered it has given a success. One success alone shows nothing: it
// may be the answer to a duplicate of what another owner wrote long ago, behind
// which there is more.
func (p *partition) verifiedBySuccess() {
	if q := &p.inquiry; q.clear && q.put.After(p.verified.at) {
		p.verified.at = q.put
	}
	p.inquiry.clear = false
}
