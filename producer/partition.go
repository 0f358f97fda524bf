package producer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/throttle"
)

// partition joins the parts for one partition: batches, window, and what was
// resolved. One mutex guards it. It is not held across I/O, compression, user
// code or a wait, and together with leaves only (docs/locks.md); what has to be
// done elsewhere is collected as effects and carried out after the unlock.
type partition struct {
	pr     *Producer
	topic  *topic
	index  int32
	queued atomic.Pointer[broker] // in whose ready list it stands
	gauge  gauge

	mu          sync.Mutex
	closed      bool
	gone        bool // with its topic, see forgetIdle
	win         *throttle.Window
	ident       *identity // of the window
	open        *batch    // takes records
	clock       clock
	usual       int           // bytes of the batch before
	run         run           // of records without a key
	sealed      queue[*batch] // in the window, the first is its una
	base        uint64        // number of the first in the window
	target      *broker       // of the leader; nil: none is known
	leaderEpoch int32
	link        *link // the connection the window is bound to
	fatal       error // why no record is taken any more
	encoding    int   // batches that are with the encoders
	resting     bool  // something waits until nothing is outstanding

	pause    flight.Pause
	memory   flight.Memory // of brokers
	inquiry  inquiry
	pending  pending
	heldFrom time.Time // since when the window is what holds batches back

	share  *share // of the budget: that of the broker it was last led by; changed under both locks, see rebook
	held   int64  // bytes of the budget
	credit int64  // of these, not used by a record

	accepted   uint64   // records
	settled    uint64   // of these, that have an outcome
	shared     bool     // other processes may write the same records, see Lane
	gap        error    // of the first record that is not written
	trouble    *trouble // of the batch that fared worst, since the last success
	pos        position
	behind     int64 // what is not in pos lies at this offset or later
	marks      []pendingMark
	resolved   queue[resolved]
	delivering bool // it stands in the delivery queue
	delivered  atomic.Uint64
}

// pending is what waits until nothing is outstanding.
type pending struct {
	newLog    bool  // the topic was recreated
	forgotten bool  // the broker says that it does not know the producer
	newID     bool  // and will not take anything under it
	giveUp    error // the head is given up
	recut     bool  // the head is too large
	rest      bool  // nothing may be with the encoders, then the broker is asked
}

// resolved is a batch with its outcome, on its way to the callbacks.
type resolved struct {
	b          *batch
	outcome    Outcome
	offset     int64
	appendTime int64 // the broker's timestamp, -1 if records keep theirs
	err        error
}

func newPartition(t *topic, index int32) *partition {
	p := &partition{
		pr: t.pr, topic: t, index: index, win: throttle.New(), leaderEpoch: -1, share: &t.pr.unled, pos: position{offset: -1},
		pause: flight.NewPause(t.pr.cfg.RetryBackoff, t.pr.cfg.RetryBackoffMax),
	}
	p.shared = t.lane.stops
	p.memory = flight.NewMemory(t.pr.cfg.ProducerIDExpiration, p.shared)
	p.memory.Resume(t.verified.Load(), 0)
	if r := t.lane.resumed; r != nil {
		p.resume(r, t.lane.identity.Load())
	}
	return p
}

// append encodes the record into the open batch, and unlocks. The first record
// of a batch, and one that fills it, wake the sender.
func (p *partition) append(a *admission) {
	limit := p.pr.cfg.BatchBytes
	wake := a.urgent && (p.open == nil || !p.open.urgent) // else the sender has seen it
	if p.open != nil && (!p.open.Fits(&a.rec, limit) || p.open.Records() >= p.open.most) {
		p.seal()
		wake = true
	}
	if p.open == nil {
		p.open = newBatch(min(limit, max(firstBuffer, p.usual)), a.came)
		p.open.most = p.mostRecords()
		wake = true
	}
	b := p.open
	b.Append(&a.rec, a.d)
	if a.dated {
		b.oldest = min(b.oldest, a.rec.Timestamp)
	}
	b.cost += int64(a.size)
	b.urgent = b.urgent || a.urgent
	p.accepted++
	wake = wake || b.Bytes() >= limit
	target := p.target
	p.mu.Unlock()
	if wake && target != nil {
		target.enqueue(p)
	}
}

// firstBuffer is the room the first batch of a partition begins with; later
// ones begin with what the one before took. A batch grows with its records, so
// thousands of thinly used partitions stay cheap.
const firstBuffer = 4 << 10

func (p *partition) refuses() error {
	switch {
	case p.gone:
		return errGone
	case p.closed || p.topic.lane.closed.Load():
		return ErrClosed
	case p.fatal != nil:
		return p.fatal
	}
	return p.topic.lane.Err()
}

// mostRecords bounds a batch by the window, as far as one is known: a batch
// larger than that has to go alone.
func (p *partition) mostRecords() int {
	if l := p.link; l != nil {
		return int(l.limits.Sequences)
	}
	most := p.pr.cfg.MaxInFlightSequences
	if p.target != nil {
		if w := p.target.window.Load(); w > 0 {
			return int(min(most, w))
		}
	}
	if id := p.pr.latest.Load(); id != nil && id.window > 0 {
		most = min(most, id.window)
	}
	return int(most)
}

// seal closes the open batch, admits it to the window and has it compressed.
func (p *partition) seal() {
	b := p.open
	p.shutBatch()
	if !p.resting && !(p.shared && p.waitsForWord()) { // see hearOfOthers
		p.encode(b)
	}
}

// shutBatch is seal for a batch that will not be sent.
func (p *partition) shutBatch() {
	p.win.Admit(int32(p.open.Records()))
	p.sealed.push(p.open)
	p.gauge.unresolved.Store(int32(p.sealed.len()))
	p.usual = p.open.Bytes()
	p.open.raw = p.usual
	p.noteAge(p.open)
	p.open = nil
}

// noteAge looks at the timestamps of a batch.
func (p *partition) noteAge(b *batch) {
	p.memory.Note(&b.History, b.oldest, b.MaxTimestamp(), time.Now())
}

// retarget says who leads the partition. Before the partition moves, what is
// outstanding is answered, or its connection dies.
func (p *partition) retarget(to leader) {
	p.mu.Lock()
	var fx effects
	if to.broker != p.target || to.epoch != p.leaderEpoch {
		newer := to.epoch > p.leaderEpoch
		p.follow(to)
		if newer {
			p.pause.Cut() // there is news: no reason to wait (KIP-951)
		}
		p.win.Regate()
		p.inquiry.assured = false
		p.readElsewhere(to, &fx)
		p.settleDown(&fx, time.Now())
		fx.enqueue = to.broker
	}
	p.mu.Unlock()
	p.do(fx)
}

// follow notes the leader, whose share of the budget the records are in.
func (p *partition) follow(to leader) {
	p.target, p.leaderEpoch = to.broker, to.epoch
	if to.broker != nil && to.broker.share != p.share {
		p.pr.budget.rebook(&p.share, to.broker.share, p.held)
	}
}

// recreated says that the topic is a new log.
func (p *partition) recreated() {
	p.mu.Lock()
	var fx effects
	p.pending.newLog = true
	p.leaderEpoch = -1 // leader epochs begin anew (K36)
	p.memory.NewLog()
	p.win.Regate()
	p.settleDown(&fx, time.Now())
	fx.enqueue = p.target
	p.mu.Unlock()
	p.do(fx)
}

// lost says that the connection died with what was outstanding on it. Served is
// what the broker had in hand then, b of this partition. There is no pause here:
// the broker's loop makes one where it helps, and bind for what was served.
func (p *partition) lost(l *link, b *batch, served bool, err error) {
	p.mu.Lock()
	var fx effects
	if p.link == l {
		if served {
			b.hangUps++
		}
		for _, sent := range p.sealed.all() {
			sent.History.Lost()
		}
		r := p.win.Lost()
		p.link = nil
		p.resolve(r, &fx)
		if r.HeadRefused {
			p.headRefused(&fx)
		}
		p.blame(err, time.Now())
		p.doubtful(r)
		p.settleDown(&fx, time.Now())
		fx.enqueue, fx.refresh = p.target, true
	}
	p.mu.Unlock()
	p.do(fx)
}

// expire gives up what is older than the delivery timeout, if nothing is
// outstanding; otherwise it lets the partition drain for that.
func (p *partition) expire(now time.Time) {
	p.mu.Lock()
	var fx effects
	p.endDenied(now, &fx)
	if p.due(now) {
		p.settleDown(&fx, now)
		fx.enqueue = p.target // what is behind the head may have waited for the same word
	}
	if b := p.head(); p.due(now) && now.Sub(b.created) >= p.pr.cfg.DeliveryTimeout+p.pr.cfg.RequestTimeout {
		// It drains for one request timeout, no longer: a broker may answer each
		// of many requests only just in time.
		fx.kill = p.link
	}
	p.mu.Unlock()
	p.do(fx)
}

func (p *partition) due(now time.Time) bool {
	b := p.head()
	return b != nil && now.Sub(b.created) >= p.pr.cfg.DeliveryTimeout
}

// Sealed is the number of batches without an outcome that are sealed.
func (p *partition) Sealed() int { return p.sealed.len() }

// History returns what is remembered of one of them.
func (p *partition) History(i int) *flight.History { return &p.sealed.all()[i].History }

// head is the oldest batch without an outcome.
func (p *partition) head() *batch {
	if p.sealed.len() > 0 {
		return p.sealed.first()
	}
	return p.open
}

// wants reports whether the partition has something for broker b.
func (p *partition) wants(b *broker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target == b && p.head() != nil
}

// nudge makes the sender look again because linger no longer counts.
func (p *partition) nudge() {
	p.mu.Lock()
	target := p.target
	if p.head() == nil {
		target = nil
	}
	p.mu.Unlock()
	if target != nil {
		target.enqueue(p)
	}
}

// stop gives up everything as soon as nothing is outstanding, and takes no more:
// the lane has failed.
func (p *partition) stop(why error) {
	p.mu.Lock()
	var fx effects
	if p.fatal == nil {
		p.fatal = why
	}
	p.settleDown(&fx, time.Now())
	p.mu.Unlock()
	p.do(fx)
}

// abort gives up everything. No connection may be alive any more.
func (p *partition) abort() {
	p.mu.Lock()
	var fx effects
	p.closed = true
	if p.open != nil {
		p.shutBatch()
	}
	if p.sealed.len() > 0 {
		whole := p.inFull(ErrClosed)
		for _, b := range p.sealed.all() {
			b.trouble = b.trouble.sentenced(ErrClosed, whole)
		}
	}
	p.resolve(p.win.Abort(), &fx)
	p.link, p.inquiry = nil, inquiry{}
	p.publish()
	p.mu.Unlock()
	p.do(fx)
}

// shut refuses what comes from now on.
func (p *partition) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// unsettled reports whether records accepted before the mark have no callback
// behind them yet.
func (p *partition) unsettled(mark uint64) bool { return p.delivered.Load() < mark }

func (p *partition) mark() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}
