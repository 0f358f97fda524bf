package flight

import (
	"time"

	"github.com/sluice-kafka/sluice/throttle"
)

// Resume begins where a checkpoint is: verified is its time, and end that of the
// log, 0 if it is not known.
func (m *Memory) Resume(verified time.Time, end int64) { m.verified, m.end = verified, end }

// VerifiedAt is when it was last verified that nothing is behind what the lane has
// written.
func (m *Memory) VerifiedAt(s Sharing, now time.Time) time.Time { return s.latest(m.verified, now) }

func (s Sharing) latest(at, now time.Time) time.Time {
	switch {
	case s.Alone:
		return now
	case s.Since.After(at):
		return s.Since
	}
	return at
}

// Shown is what a checkpoint may say of the point up to which all is written: when
// it was verified that nothing is behind, and where the log ended then, 0 if that is
// not known.
func (m *Memory) Shown(here throttle.Sequence, s Sharing, now time.Time) (at time.Time, end int64) {
	v := shown{m.verified, m.end}
	if _, ahead := m.Ahead(here); ahead {
		v = m.before
	}
	return s.latest(v.at, now), v.end
}

// End is where the log of the partition ended when it was verified, 0 if that is
// not known.
func (m *Memory) End() int64 { return m.end }

// Verify notes that nothing was behind at that time, and where the log ended.
func (m *Memory) Verify(at time.Time, end int64) {
	m.verified, m.end = at, max(m.end, end)
}

// Newer reports whether something that was found at that time is news.
func (m *Memory) Newer(at time.Time) bool { return at.After(m.verified) }

// ShowsAll reports whether a leader that knows nothing of the producer ID shows by
// that that nothing is in the log behind what the lane has written: were there
// something, it would still remember it. begun says that the lane is known to have
// written here before.
func (m *Memory) ShowsAll(q Queue, s Sharing, begun bool, now time.Time) bool {
	if !m.remembers(m.VerifiedAt(s, now), now) || s.Dated && !s.Alone && !m.brokersTime {
		return false
	}
	for i := range q.Sealed() {
		switch h := q.History(i); {
		case h.Old && (h.MayBe || !s.Alone):
			return false // a broker forgets by the timestamps of records, at any moment
		case h.MayBe && (begun || !m.remembers(h.First, now)):
			return false // it should know the producer by what was written before
		}
	}
	return true
}

// Saw notes that the log holds everything of the lane up to that sequence, which
// may be more than what is written up to here.
func (m *Memory) Saw(last, here throttle.Sequence) {
	if _, ahead := m.Ahead(here); !ahead {
		m.before = shown{m.verified, m.end}
	}
	m.next, m.seen = last.Add(1), true
}

// ReadTo notes how far the log was read: a reading that broke off goes on there.
func (m *Memory) ReadTo(end int64) { m.end = max(m.end, end) }

// ReadToEnd notes that the log of this leader was read to its end. What was asked
// before then is verified.
func (m *Memory) ReadToEnd(l Leader, asked, now time.Time) {
	m.verified, m.readBy, m.readAt = asked, l, now
}

// readingHolds is how long a reading settles what a leader says. Later another
// owner may have written, and been forgotten, so it is read again from there. It
// is longer than brokers usually throttle a connection, or nobody got anywhere.
const readingHolds = ZombieSpan

// JustRead reports, once, whether the log of this leader was read to its end a
// moment before it was asked.
func (m *Memory) JustRead(l Leader, asked time.Time) bool {
	read := m.readBy == l && Age(m.readAt, asked) < readingHolds
	m.readBy = NoLeader
	return read
}

// Ahead reports whether the log is known to hold more of the lane than is resolved
// here, and up to which sequence.
func (m *Memory) Ahead(una throttle.Sequence) (last throttle.Sequence, ahead bool) {
	n := m.next.Distance(una)
	m.seen = m.seen && 0 < n && n < throttle.MaxWindow // once passed it says nothing any more
	return m.next.Add(-1), m.seen
}
