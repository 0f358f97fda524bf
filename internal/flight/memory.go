package flight

import (
	"time"

	"github.com/sluice-kafka/sluice/throttle"
)

// Leader is a broker under a leader epoch.
type Leader struct{ Broker, Epoch int32 }

// NoLeader is nobody.
var NoLeader = Leader{-1, -1}

// Memory is what is known of how long brokers remember the producer in one
// partition (R7). They forget producer IDs after a pause, and judge the age of
// what they know by the timestamps of records (KIP-854).
type Memory struct {
	expiration time.Duration // producer.id.expiration.ms
	lane       bool

	acked    time.Time // the last success: what brokers remember dates from then
	recorded time.Time // timestamp of its batch
	by       Leader    // who gave it, as far as we know: metadata is behind
	old      int       // batches with old timestamps among the unresolved
	// brokersTime: the broker puts its own timestamps on records.
	brokersTime bool

	// Verified is when a leader, or the log, last showed that nothing had been
	// written behind what a lane has written in the partition. Whatever was written
	// behind it since is younger. So a leader that knows nothing of the producer ID
	// has nothing to have forgotten, as long as that is less than its memory reaches
	// back. The time of a checkpoint alone proves nothing: another owner may have
	// gone ahead, and its traces be forgotten, while this one takes checkpoints of
	// where it stands.
	verified time.Time
	end      int64 // of the log then, 0: not known
	// What the log was seen to hold of the lane behind what is resolved here: all
	// before next, if anything was seen.
	next throttle.Sequence
	seen bool
	// before is what was verified before that was seen. A checkpoint of a point
	// that lies before next says no more: whoever resumes there has to read the log
	// from there again, for it does not know next.
	before shown
	// readBy is the leader whose log was read to its end, and readAt when. That
	// settles its answer to the question that follows, whatever the timestamps of
	// records are.
	readBy Leader
	readAt time.Time
}

// Sharing is what a lane knows of other processes that may have its producer ID.
type Sharing struct {
	// Alone: it is in no checkpoint yet, so there can be none.
	Alone bool
	// Since is what is known of all partitions: nothing was written behind the lane
	// by then. At its first mark no other process had its producer ID.
	Since time.Time
	// Dated: the records of the lane bring timestamps of their own, or it is not
	// known yet whether they do. Brokers forget by those, and they may be any.
	Dated bool
}

// shown is one verification.
type shown struct {
	at  time.Time
	end int64
}

// NewMemory returns the memory of brokers that have heard nothing yet.
func NewMemory(expiration time.Duration, lane bool) Memory {
	return Memory{expiration: expiration, lane: lane, by: NoLeader, readBy: NoLeader}
}

// ZombieSpan is longer than a deposed leader goes on without knowing it: by then
// its cluster has fenced it (broker.session.timeout.ms is 9 s), and metadata says
// who leads.
const ZombieSpan = 12 * time.Second

// Age is how long ago t was, by the wall or by the monotonic clock, whichever
// says more: a suspended host stops the monotonic one.
func Age(t, now time.Time) time.Duration {
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// Remembered reports whether brokers whose memory reaches that far back surely
// still know a producer that wrote then, or later.
func Remembered(then, now time.Time, expiration time.Duration) bool {
	return Age(then, now) <= expiration/2
}

func (m *Memory) remembers(then, now time.Time) bool { return Remembered(then, now, m.expiration) }

// Note counts a batch whose timestamps are so old that a broker might forget the
// producer by them, unless the broker puts its own on records. The times are in
// milliseconds: oldest and newest are those of the timestamps in it.
func (m *Memory) Note(h *History, oldest, newest int64, now time.Time) {
	stamp := newest
	if m.lane {
		stamp = min(stamp, oldest) // another owner may have cut the batch so that it ends there
	}
	h.stamp = stamp
	if h.Old = m.stale(h, now); h.Old {
		m.old++
	}
}

// stale reports whether a broker may forget the producer by the timestamps of the
// batch.
func (m *Memory) stale(h *History, now time.Time) bool {
	return h.stamp < now.Add(-m.expiration/2).UnixMilli() && !m.brokersTime
}

// Resolved is for a batch that has an outcome, or whose halves are noted.
func (m *Memory) Resolved(h *History) {
	if h.Old {
		m.old--
	}
}

// Succeeded notes a success, and whose timestamps the log of the topic has:
// appendTime is that of the answer in milliseconds, -1 if records keep theirs. An
// answer to a duplicate carries one either way. newest is the batch's own.
func (m *Memory) Succeeded(h *History, appendTime, newest int64, by Leader, now time.Time) {
	switch {
	case appendTime < 0:
		m.brokersTime = false
	case !m.lane && h.Attempts == 1:
		m.brokersTime = true
	case m.lane && h.Old && m.remembers(time.UnixMilli(appendTime), now):
		// Of a batch that another owner wrote the answer carries the timestamp
		// that it has there, which is as old.
		m.brokersTime = true
	}
	m.acked, m.recorded, m.by = now, now, by
	if !m.brokersTime {
		m.recorded = time.UnixMilli(newest)
	}
}

// Holds reports whether the broker surely has not forgotten the producer yet. doubt
// says that the oldest unresolved batch may be in the log. cautious says that the broker may forget at any moment: the clock
// of its memory is the timestamps of what it appended last, which may be any
// unresolved batch. The oldest may have become old while it waited.
func (m *Memory) Holds(q Queue, doubt bool, s Sharing, now time.Time) (holds, cautious bool) {
	var head *History
	if q.Sealed() > 0 {
		head = q.History(0)
	}
	cautious = m.old > 0 || !m.acked.IsZero() && !m.remembers(m.recorded, now) || head != nil && m.stale(head, now)
	switch {
	case m.lane:
		return m.remembers(m.VerifiedAt(s, now), now), cautious // and it asks at each gate anyway
	case cautious && doubt:
		return false, cautious
	case !m.acked.IsZero() && !m.remembers(m.acked, now):
		return false, cautious
	}
	// Where nothing was acknowledged yet the memory dates from what may be there.
	return !doubt || m.remembers(head.First, now), cautious
}

// Forget is for a broker that has forgotten.
func (m *Memory) Forget() { m.acked, m.recorded = time.Time{}, time.Time{} }

// NewLog is for a topic that was made anew: leader epochs begin anew (K36).
func (m *Memory) NewLog() { m.by = NoLeader }

// Current reports whether a leader is not older than that of the last success: it
// gave that itself, or its epoch is newer. A deposed leader may be behind and has
// lost nothing.
func (m *Memory) Current(l Leader) bool { return m.Answered(l) || l.Epoch > m.by.Epoch }

// AnsweredBy notes who proved what is in the log.
func (m *Memory) AnsweredBy(l Leader) { m.by = l }

// Answered reports whether the broker gave the last success itself.
func (m *Memory) Answered(l Leader) bool { return l.Broker == m.by.Broker }
