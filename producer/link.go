package producer

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/sluice-kafka/sluice/throttle"
	uberatomic "go.uber.org/atomic"
)

// link is one live connection for produce requests. One goroutine writes to
// it, one reads from it, and the requests in between stand in a queue, because
// a broker answers in the order of the requests.
//
// It owns what is outstanding: from the moment in which a partition commits to an
// attempt or a question on the link, that is in asking, writing or requests, or in
// the hands of the sender or the receiver. Once both are gone reap gives it back.
type link struct {
	broker    *broker
	conn      *conn.Conn
	limits    throttle.Limits
	version   int16           // of Produce
	cluster   string          // to which the broker belongs, "" if not known
	ended     chan struct{}   // closed once nothing is outstanding any more, after its death
	describes bool            // it offers DescribeProducers
	inFlight  atomic.Int64    // bytes
	answers   atomic.Int64    // to Produce requests
	hungry    atomic.Bool     // the sender has something and may wait for room: each answer wakes it
	silence   uberatomic.Time // muted, for whoever holds another lock
	asked     atomic.Bool     // a question is outstanding
	choked    atomic.Bool     // changed under mu: as many requests as may be; only room wakes the sender

	// Of the sender alone:
	sent   time.Time     // when the latest request with batches was written, or the link began
	pace   time.Duration // between two requests that are not full, see depth.pace
	empty  bool          // nothing was in flight when it was looked at last
	asking []question    // found while requests were built, in none yet

	mu       sync.Mutex
	changed  *sync.Cond      // a write ended, or the link died
	requests queue[*request] // written, oldest first
	writing  []*request      // begun, not written yet
	depth    depth
	muted    time.Time // the broker asked for silence until then (KIP-219)
	watchdog *time.Timer
	watched  time.Time // since when the broker owes an answer
	timeout  time.Duration
	cause    error // why it died
}

// request is what stands in the queue for one Produce request.
type request struct {
	correlationID int32
	version       int16
	bytes         int64
	limit         int       // bytes of its answer
	written       time.Time // when the write began
	attempts      []attempt
	asks          []question // instead: it is a DescribeProducers request
	asked         *inspect.Question
}

var requestPool = sync.Pool{New: func() any { return new(request) }}

// recycle makes the request available to others.
func (r *request) recycle() {
	clear(r.attempts)
	clear(r.asks)
	*r = request{attempts: r.attempts[:0], asks: r.asks[:0]}
	requestPool.Put(r)
}

func newLink(b *broker, c *conn.Conn, limits throttle.Limits, version int16) *link {
	now := time.Now()
	l := &link{
		broker: b, conn: c, limits: limits, version: version, sent: now,
		ended:   make(chan struct{}),
		timeout: b.pr.cfg.RequestTimeout, depth: newDepth(b.pr.cfg.RequestsInFlight, now),
	}
	l.changed = sync.NewCond(&l.mu)
	l.watchdog = time.AfterFunc(l.timeout, l.silent)
	l.watchdog.Stop()
	_, l.describes = c.Version(inspect.DescribeProducersKey, 0)
	return l
}

// die ends the link. What is outstanding is given back by the sender, once
// neither goroutine uses it any more.
func (l *link) die(err error) {
	l.mu.Lock()
	first := l.cause == nil
	if first {
		l.cause = err
	}
	l.mu.Unlock()
	if first {
		l.watchdog.Stop()
		l.conn.Abandon()
		l.changed.Broadcast()
		l.broker.nudge()
	}
}

// idle reports whether nothing is outstanding.
func (l *link) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requests.len() == 0 && len(l.writing) == 0
}

func (l *link) dead() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// begin notes a request that is about to be written.
func (l *link) begin(r *request, now time.Time) {
	l.inFlight.Add(r.bytes)
	r.written = now
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = append(l.writing, r)
	if l.requests.len() == 0 {
		l.watch(now)
	}
}

// wrote notes the end of a write of what was begun, after n bytes: no one reads
// the bytes of the batches any more. A request of which no byte left stays where
// it is; wrote returns how many left.
func (l *link) wrote(n int64) (left int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.requests.len() == 0
	for ; left < len(l.writing) && n > 0; left++ {
		n -= l.writing[left].bytes
		l.requests.push(l.writing[left])
	}
	kept := copy(l.writing, l.writing[left:])
	clear(l.writing[kept:])
	l.writing = l.writing[:kept]
	if first && left > 0 {
		l.watch(time.Now()) // now that it is out
	}
	l.changed.Broadcast()
	return left
}

// answered takes the request that a response belongs to off the queue. It waits
// for the end of its write: a broker that answers early must not make us reuse
// memory that is still being sent (KAFKA-19012).
func (l *link) answered(correlationID int32, now time.Time) (*request, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.requests.len() == 0 && len(l.writing) > 0 && l.cause == nil {
		l.changed.Wait()
	}
	if l.requests.len() == 0 {
		return nil, fmt.Errorf("response %d to no request", correlationID)
	}
	r := l.requests.first()
	if r.correlationID != correlationID {
		return nil, fmt.Errorf("response %d where %d was due", correlationID, r.correlationID)
	}
	l.requests.pop()
	l.depth.answered(r.written, now)
	if l.roomyLocked() {
		l.choked.Store(false)
	}
	l.watch(now)
	return r, nil
}

// answerLimit is how large the response that is due may be. A broker answers in the order
// of the requests, perhaps before the write of one has ended. What answers none is
// refused once it is read.
func (l *link) answerLimit() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.requests.len() > 0:
		return l.requests.first().limit
	case len(l.writing) > 0:
		return l.writing[0].limit
	}
	return conn.ProduceLimit(0, 0)
}

// watch starts the time that the broker has for its next answer. It runs from the end
// of the write, or from the previous answer: a broker serves one request of a
// connection at a time, so 500 in flight are 500 times of service and not a dead
// broker.
func (l *link) watch(now time.Time) {
	l.watched = latest(now, l.muted)
	if l.cause != nil || l.requests.len()+len(l.writing) == 0 {
		l.watchdog.Stop()
		return
	}
	l.watchdog.Reset(l.watched.Sub(now) + l.timeout)
}

// mute notes that the broker wants no request for a while.
func (l *link) mute(d time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := now.Add(d); until.After(l.muted) {
		l.muted = until
		l.silence.Store(until)
		l.watch(now)
	}
}

// mutedSince reports whether the broker has wanted silence since then.
func (l *link) mutedSince(then time.Time) bool {
	return l.silence.Load().After(then)
}

// mayWrite reports whether the sender, if it wants to, may write a request now;
// if not, the time is when it may, zero for once there is an answer.
func (l *link) mayWrite(now time.Time, wants bool) (ok bool, when time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.muted.After(now) {
		return false, l.muted
	}
	if full := l.requests.len()+len(l.writing) >= l.depth.limit; full || !l.roomyLocked() {
		l.choked.Store(true)
		l.depth.held = l.depth.held || wants
		return false, time.Time{}
	}
	l.pace = l.depth.pace()
	l.empty = l.requests.len()+len(l.writing) == 0
	return true, time.Time{}
}

// roomyLocked reports whether the sender may go on. Once there were as many
// requests as may be it stops until there is room for some: to wake it for each
// answer costs more than the request.
func (l *link) roomyLocked() bool {
	return !l.choked.Load() || l.requests.len() <= l.depth.limit-l.depth.limit/4
}

// due is when a batch that is not full has waited long enough for company; a time
// that has passed is now.
//
// With a linger that is so long after its first record, or after the request
// before if that was earlier. So a record that comes now and then leaves at once,
// and a stream of them once a linger.
//
// Without one, and where somebody waits for a record, it is Nagle's algorithm with
// a bound: a record that finds nothing in flight leaves at once, and others once
// all is answered, or the pace after the request before. So callers that each wait
// for their record share requests, without waiting for a round trip more where that
// is long.
func (l *link) due(b *batch, linger time.Duration, urgent bool) time.Time {
	since := b.created
	if l.sent.Before(since) {
		since = l.sent
	}
	switch {
	case !urgent && linger > 0:
		return since.Add(linger)
	case l.empty:
		return time.Time{}
	}
	return since.Add(l.pace)
}

// reap gives back everything that got no answer. Reader and writer are gone.
// What was begun and not written is surely not in the log.
func (l *link) reap() {
	l.mu.Lock()
	requests, unsent, cause := l.requests.all(), l.writing, l.cause
	l.requests, l.writing = queue[*request]{}, nil
	l.mu.Unlock()
	askAgain(l.asking)
	for _, r := range unsent {
		askAgain(r.asks)
		for _, at := range r.attempts {
			at.p.settle(at, answer{Answer: flight.Answer{Unsent: true, BaseOffset: -1}, err: cause}, time.Now())
		}
	}
	for i, r := range requests {
		askAgain(r.asks)
		for j := range r.attempts {
			if at := &r.attempts[j]; !at.done {
				at.p.lost(l, at.b, i == 0, cause)
			}
		}
	}
}

// askAgain lets questions without an answer be put on the next connection: that
// of whoever leads the partitions now.
func askAgain(questions []question) {
	for _, q := range questions {
		q.p.nudge()
	}
}
