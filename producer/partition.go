package producer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/throttle"
)

// partition joins the parts for one partition: batches, window, and what was
// resolved. One mutex guards it. It is never held together with another one,
// nor across I/O, compression, a callback or a wait; what has to be done
// elsewhere is collected as effects and carried out after the unlock.
type partition struct {
	pr     *Producer
	topic  *topic
	index  int32
	queued atomic.Pointer[broker] // in whose ready list it stands
	gauge  gauge

	mu          sync.Mutex
	closed      bool
	own         flight.Owner     // decides
	win         *throttle.Window // of own
	ident       *identity        // of the window
	open        *batch           // takes records
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

	fx         effects   // of the call under way
	detail     error     // what the call under way is about
	appendTime int64     // of the answer that is being settled, -1: none
	heldFrom   time.Time // since when the window is what holds batches back

	share  *share // of the budget: that of the broker it was last led by
	held   int64  // bytes of the budget
	credit int64  // of these, not used by a record

	accepted   uint64 // records
	settled    uint64 // of these, that have an outcome
	shared     bool   // other processes may write the same records, see Lane
	gap        error  // of the first record that is not written
	marks      []pendingMark
	resolved   queue[resolved]
	delivering bool // it stands in the delivery queue
	delivered  atomic.Uint64
}

// resolved is a batch with its outcome, on its way to the callbacks.
type resolved struct {
	b          *batch
	outcome    Outcome
	offset     int64
	appendTime int64 // the broker's timestamp, -1 if records keep theirs
	err        error
}

// effects is what has to be done once the partition's lock is free.
type effects struct {
	enqueue *broker // has something to look at
	deliver bool    // records were resolved
	share   *share  // of these bytes:
	free    int64   // not needed any more
	refresh bool    // metadata is needed
	renew   bool    // a new producer ID is needed
	kill    *link   // has outstayed a deadline
	alarm   throttle.Alarm
	fenced  bool
	loss    bool   // the broker lost what it had acknowledged
	audit   *audit // the log is to be read
	say     func() // for the log of the operator
	failed  bool   // the lane has stopped
}

func newPartition(t *topic, index int32) *partition {
	p := &partition{
		pr: t.pr, topic: t, index: index, leaderEpoch: -1, share: &t.pr.unled,
	}
	p.shared = t.lane.stops
	p.own = flight.NewOwner(p, flight.Options{
		ProducerIDExpiration: t.pr.cfg.ProducerIDExpiration, RetryBackoff: t.pr.cfg.RetryBackoff, RetryBackoffMax: t.pr.cfg.RetryBackoffMax,
		ZombieSpan: flight.ZombieSpan, DeliveryTimeout: t.pr.cfg.DeliveryTimeout, RequestTimeout: t.pr.cfg.RequestTimeout,
		Lane: p.shared,
	})
	p.win, p.appendTime = p.own.Window, -1
	p.own.Memory.Resume(t.verified.Load(), 0)
	if r := t.lane.resumed; r != nil {
		p.resume(r, t.lane.identity.Load())
	}
	return p
}

// do carries out what was collected under the lock.
func (p *partition) do(fx effects) {
	p.report(fx) // before the callbacks: who is told of a loss finds it in Stats
	if fx.failed {
		p.topic.lane.spread()
	}
	p.pr.budget.give(fx.share, fx.free)
	if fx.deliver {
		p.pr.delivery.enqueue(p)
	}
	if fx.enqueue != nil {
		fx.enqueue.enqueue(p)
	}
	if fx.kill != nil {
		fx.kill.die(ErrDeliveryTimeout)
	}
	if fx.refresh {
		p.pr.control.refresh()
	}
	if fx.renew {
		p.pr.control.renew(p.topic.lane)
	}
	if fx.audit != nil {
		p.pr.auditor.enqueue(fx.audit)
	}
}

// unlock ends a call, and carries out what it collected.
func (p *partition) unlock() {
	p.publish()
	fx := p.fx
	p.fx = effects{}
	fx.renew = p.win.NeedsProducerID() && !p.shared && p.ident == p.topic.lane.identity.Load()
	p.mu.Unlock()
	p.do(fx)
}

// report counts and logs what operators have to know of.
func (p *partition) report(fx effects) {
	if fx.say != nil {
		fx.say()
	}
	if fx.alarm != throttle.NoAlarm {
		p.pr.stats.alarms.Add(1)
		p.pr.log.Error("the log of a partition is not what was acknowledged",
			"topic", p.topic.name, "partition", p.index, "alarm", fx.alarm.String())
	}
	if fx.loss {
		p.pr.stats.alarms.Add(1)
		p.pr.log.Error("the broker lost records that it had acknowledged", "topic", p.topic.name, "partition", p.index)
	}
	if fx.fenced {
		p.pr.log.Error("another producer uses our producer id", "topic", p.topic.name, "partition", p.index)
	}
}

// append encodes the record into the open batch, and unlocks. The first record
// of a batch, and one that fills it, wake the sender.
func (p *partition) append(a *admission) {
	limit := p.pr.cfg.BatchBytes
	wake := a.urgent
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
	if !p.own.Resting() && !(p.shared && p.own.Waits()) { // it may be passed over
		p.encode(b)
	}
}

// shutBatch is seal for a batch that will not be sent.
func (p *partition) shutBatch() {
	b := p.open
	p.own.Admit(&b.History, int32(b.Records()), b.oldest, b.MaxTimestamp(), time.Now())
	p.sealed.push(p.open)
	p.gauge.unresolved.Store(int32(p.sealed.len()))
	p.usual = p.open.Bytes()
	p.open = nil
}

// retarget says who leads the partition.
func (p *partition) retarget(to leader) {
	p.mu.Lock()
	if to.broker != p.target || to.epoch != p.leaderEpoch {
		newer := to.epoch > p.leaderEpoch
		p.follow(to)
		var e flight.Effects
		p.own.Follow(newer, time.Now(), &e)
		p.carry(e)
		p.fx.enqueue = to.broker
	}
	p.unlock()
}

// follow notes the leader, whose share of the budget the records are in.
func (p *partition) follow(to leader) {
	p.target, p.leaderEpoch = to.broker, to.epoch
	p.gauge.available.Store(to.broker != nil)
	if to.broker != nil && to.broker.share != p.share {
		p.pr.budget.move(p.share, to.broker.share, p.held)
		p.share = to.broker.share
	}
}

// recreated says that the topic is a new log.
func (p *partition) recreated() {
	p.mu.Lock()
	p.leaderEpoch = -1 // leader epochs begin anew (K36)
	var e flight.Effects
	p.own.Recreated(time.Now(), &e)
	p.carry(e)
	p.unlock()
}

// lost says that the connection died with what was outstanding on it. Served is
// what the broker had in hand then, b of this partition. There is no pause here:
// the broker's loop makes one where it helps, and bind for what was served.
func (p *partition) lost(l *link, b *batch, served bool, err error) {
	p.mu.Lock()
	if p.link == l {
		if served {
			b.hangUps++
		}
		var e flight.Effects
		p.detail = err
		p.own.Lost(time.Now(), &e)
		p.detail = nil
		p.carry(e)
		p.fx.enqueue, p.fx.refresh = p.target, true
	}
	p.unlock()
}

// expire gives up what is older than the delivery timeout, if nothing is
// outstanding; otherwise it lets the partition drain for that.
func (p *partition) expire(now time.Time) {
	p.mu.Lock()
	if p.own.Due(now) {
		p.settleDown(now)
	}
	if p.own.Overdue(now) {
		p.fx.kill = p.link
	}
	p.unlock()
}

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

// fail gives up everything that was never sent, because nothing can be.
func (p *partition) fail(err error) {
	p.mu.Lock()
	p.detail = err
	p.own.Fail()
	p.detail = nil
	p.unlock()
}

// stop gives up everything as soon as nothing is outstanding, and takes no more:
// the lane has failed.
func (p *partition) stop(why error) {
	p.mu.Lock()
	p.halt(why)
	p.settleDown(time.Now())
	p.unlock()
}

// abort gives up everything. No connection may be alive any more.
func (p *partition) abort() {
	p.mu.Lock()
	p.closed = true
	if p.open != nil {
		p.shutBatch()
	}
	for _, b := range p.sealed.all() {
		b.lastErr = because(ErrClosed, b.lastErr)
	}
	p.resolve(p.win.Abort())
	p.link = nil
	p.own.Abandon()
	p.unlock()
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
