package throttle

import "github.com/sluice-kafka/sluice/internal/brokermodel"

// The world around one Window, small enough that every state of it can be
// visited: replicas of one partition with elections, zombies, truncation and
// duplicate memories that shrink, a connection that breaks, and connections
// that were abandoned but whose requests a broker still executes.

const (
	maxBatches = 5
	maxLog     = 8
	maxConns   = 2 // abandoned connections that still matter
)

// rec is one batch, on the wire or in a log.
type rec struct {
	pid, epoch int8
	base       int32
	id         uint8 // number of the batch in the window, 255: written before

	// Where batches differ in length, as in a resumed window: the number of
	// records, and the content, which is the number of the first record.
	n, content uint8
}

type replica struct {
	log    [maxLog]rec
	n      uint8
	forgot uint8 // records before this are not in the duplicate memory
	reload uint8 // at this length the memory shrank to one batch
	leads  bool  // it believes so: a zombie does, too
	synced bool  // a follower that has truncated to the present leader's log
	led    int8  // the latest leader epoch in which it was elected, -1: never
}

type conn struct {
	broker  int8
	live    bool
	reqs    [maxBatches]rec
	nreq    uint8
	waiting uint8 // the head was appended; it waits for this many records to be replicated
	resp    [maxBatches]response
	nresp   uint8
	epoch   int8 // the leader epoch that the client saw when it connected
}

type response struct {
	id     uint8
	answer Answer
	offset int8
}

// budget is how often each fault may still strike.
type budget struct {
	cut, refuse, refuseForGood, errorAfter, elect, reload, shrink, expire, forget int8
	former                                                                        int8 // writes of a former process
}

// verdicts on batches
const (
	unresolved = iota
	written
	notWritten
	unknown
)

type world struct {
	set    *setting
	w      Window
	rep    [3]replica
	leader int8
	alone  bool  // the ISR is the leader alone
	hw     uint8 // replicated records
	cur    conn
	old    [maxConns]conn
	left   budget
	result [maxBatches]uint8
	watch  watch

	epoch int8 // leader epoch
	acker int8 // the leader epoch of the last success
	asked bool // the broker was asked, and nothing written since
	ahead bool // and it found that the log has to be read
}

// setting is one instance of the world.
type setting struct {
	name       string
	batches    uint8
	records    int32 // in each batch
	replicas   int8
	rules      brokermodel.Rules
	limits     [3]Limits // by broker
	faults     budget
	anchored   bool  // a batch before is written and acknowledged
	quiet      uint8 // the replicas that have forgotten the producer since, one bit each
	learns     bool  // metadata tells the client of new leader epochs of its broker
	asks       asking
	reads      bool    // the log is read
	proof      bool    // the owner learns up to where the log is replicated, and no offsets
	cuts       []int32 // the batches of a resumed window, nil: not resumed
	forgets    forgetting
	base       int32
	variant    variant
	ignoreWire bool // look at the log only
}

func (set *setting) start() world {
	wd := world{set: set, w: *New(), left: set.faults}
	wd.w.ring = make([]entry, 8)
	wd.w.SetProducer(0, 0)
	wd.rep[0].leads = true
	for i := int8(1); i < set.replicas; i++ {
		wd.rep[i].synced, wd.rep[i].led = true, -1
	}
	if set.anchored {
		for i := range set.replicas {
			wd.rep[i].log[0], wd.rep[i].n = rec{base: brokermodel.Add(set.base, -set.records), id: 255}, 1
		}
		wd.hw, wd.w.next, wd.w.lastEnd = 1, Sequence(set.base), int64(set.records)
		wd.w.anchored, wd.w.acked = true, true
	}
	for b := range set.replicas {
		wd.rep[b].forgot = set.quiet >> b & 1
	}
	if set.cuts != nil {
		wd.resume()
	}
	for range set.batches {
		wd.w.Admit(set.records)
	}
	return wd
}

// clone copies what a step may change.
func (wd *world) clone() world {
	c := *wd
	c.w.ring = append([]entry(nil), wd.w.ring...)
	return c
}

// memory is what replica b knows of a producer ID: a function of its log.
func (wd *world) memory(b, pid int8) brokermodel.Producer {
	var p brokermodel.Producer
	r := &wd.rep[b]
	for i := uint8(0); i < r.n; i++ {
		if m := r.log[i]; m.pid == pid && i >= r.forgot {
			p.Appended(int16(m.epoch), m.base, wd.count(m), int64(i))
		}
		if i+1 == r.reload {
			p.Reload()
		}
	}
	return p
}

// judge says what replica b makes of a batch, and where it is already.
func (wd *world) judge(b int8, m rec) (brokermodel.Verdict, int64) {
	p := wd.memory(b, m.pid)
	return wd.set.rules.Judge(&p, wd.rep[b].n == 0, int16(m.epoch), m.base, wd.count(m))
}

func (r *replica) append(m rec) {
	if r.n == maxLog {
		panic("the log of the model is too short for this setting")
	}
	r.log[r.n] = m
	r.n++
}

// serve lets the broker of the connection take its oldest request.
func (wd *world) serve(c *conn) {
	m := c.reqs[0]
	if !wd.rep[c.broker].leads {
		wd.reply(c, NotAppended, -1)
		return
	}
	switch v, at := wd.judge(c.broker, m); v {
	case brokermodel.Append:
		wd.rep[c.broker].append(m)
		wd.commit()
		c.waiting = wd.rep[c.broker].n
	case brokermodel.Recognised:
		c.waiting = uint8(at) + 1
	case brokermodel.Duplicate:
		wd.reply(c, Duplicate, -1)
	case brokermodel.OutOfOrder:
		wd.reply(c, OutOfOrder, -1)
	case brokermodel.Fenced:
		wd.reply(c, fencedAnswer, -1)
	}
}

// fencedAnswer stands for INVALID_PRODUCER_EPOCH, which a lone owner never sees.
const fencedAnswer = Answer(99)

func (wd *world) reply(c *conn, a Answer, offset int8) {
	c.resp[c.nresp] = response{c.reqs[0].id, a, offset}
	c.nresp++
	c.pop()
}

func (c *conn) pop() {
	copy(c.reqs[:], c.reqs[1:c.nreq])
	c.nreq--
	c.reqs[c.nreq] = rec{}
	c.waiting = 0
}

// straggle lets a broker execute the oldest request of an abandoned connection.
func (wd *world) straggle(c *conn) {
	if m := c.reqs[0]; wd.rep[c.broker].leads {
		if v, _ := wd.judge(c.broker, m); v == brokermodel.Append {
			wd.rep[c.broker].append(m)
			wd.commit()
		}
	}
	if c.pop(); c.nreq == 0 {
		*c = conn{}
	}
}

// commit moves the high watermark.
func (wd *world) commit() {
	hw := wd.rep[wd.leader].n
	for b := range wd.set.replicas {
		if b == wd.leader || wd.alone {
			continue
		}
		if !wd.rep[b].synced {
			return
		}
		hw = min(hw, wd.rep[b].n)
	}
	wd.hw = max(wd.hw, hw)
}

// elect makes b the leader. The old one goes on as a zombie until it learns.
func (wd *world) elect(b int8) {
	for i := range wd.set.replicas {
		wd.rep[i].synced = false
	}
	wd.leader = b
	wd.epoch++
	wd.rep[b].leads, wd.rep[b].led = true, wd.epoch
}

// learn makes b a follower of the present leader: it truncates to what both
// have, and answers what waited on it.
func (wd *world) learn(b int8) {
	r, l := &wd.rep[b], &wd.rep[wd.leader]
	keep := uint8(0)
	for keep < r.n && keep < l.n && r.log[keep] == l.log[keep] {
		keep++
	}
	for i := keep; i < r.n; i++ {
		r.log[i] = rec{}
	}
	r.n, r.leads, r.synced = keep, false, true
	r.reload, r.forgot = min(r.reload, keep), min(r.forgot, keep)
	if c := &wd.cur; c.live && c.broker == b && c.waiting > 0 {
		wd.reply(c, Uncertain, -1)
	}
	wd.commit()
}

// abandon leaves the connection; what the broker had not yet taken may follow.
func (wd *world) abandon() {
	c := wd.cur
	wd.cur = conn{}
	if c.waiting > 0 {
		c.pop()
	}
	c.live, c.resp, c.nresp = false, [maxBatches]response{}, 0
	if c.nreq == 0 {
		return
	}
	for i := range wd.old {
		if wd.old[i].nreq == 0 {
			wd.old[i] = c
			return
		}
	}
}

func (wd *world) stragglers() bool {
	for i := range wd.old {
		if wd.old[i].nreq > 0 {
			return true
		}
	}
	return false
}

// key encodes the state; what a setting fixes is left out.
func (wd *world) key(dst []byte) []byte {
	put := func(vs ...uint8) { dst = append(dst, vs...) }
	bit := func(b bool) uint8 {
		if b {
			return 1
		}
		return 0
	}
	seq := func(s int32) { put(uint8(s), uint8(s>>8), uint8(s>>24)) }
	batch := func(m rec) {
		put(uint8(m.pid), uint8(m.epoch), m.id)
		seq(m.base)
		if wd.set.cuts != nil {
			put(m.n, m.content)
		}
	}
	w := &wd.w
	put(uint8(w.producerID), uint8(w.epoch), bit(w.acked)|bit(w.unsettled)<<1|bit(w.bound)<<2|bit(w.fenced)<<3|bit(w.anchored)<<4,
		uint8(w.phase), uint8(w.outstanding), uint8(w.sweepEnd), uint8(w.resumeAt), uint8(w.lastRefusal),
		uint8(w.lastEnd), uint8(w.una), uint8(w.nxt), uint8(w.max), uint8(w.end), uint8(w.limits.Sequences))
	seq(int32(w.next))
	for i := w.una; i < w.max; i++ {
		e := w.at(i)
		put(bit(e.out) | bit(e.doubt)<<1 | bit(e.refused)<<2)
		seq(int32(e.base))
	}
	put(uint8(wd.leader), bit(wd.alone), wd.hw)
	for b := range wd.set.replicas {
		r := &wd.rep[b]
		put(r.n, r.forgot, r.reload, bit(r.leads)|bit(r.synced)<<1)
		for _, m := range r.log[:r.n] {
			batch(m)
		}
	}
	for _, c := range append([]conn{wd.cur}, wd.old[:]...) {
		put(uint8(c.broker), bit(c.live), c.nreq, c.waiting, c.nresp)
		for _, m := range c.reqs[:c.nreq] {
			batch(m)
		}
		for _, a := range c.resp[:c.nresp] {
			put(a.id, uint8(a.answer), uint8(a.offset))
		}
	}
	b := wd.left
	put(uint8(b.cut), uint8(b.refuse), uint8(b.refuseForGood), uint8(b.errorAfter), uint8(b.elect),
		uint8(b.reload), uint8(b.shrink), uint8(b.expire), uint8(b.forget))
	if wd.set.cuts != nil {
		put(uint8(b.former))
		for i := range w.end {
			put(uint8(w.at(i).records))
		}
	}
	put(wd.result[:]...)
	put(bit(w.deaf))
	if wd.set.asks != neverAsks || wd.set.learns {
		put(uint8(wd.epoch), uint8(wd.acker), bit(wd.asked)|bit(wd.ahead)<<1, uint8(wd.cur.epoch))
		for b := range wd.set.replicas {
			put(uint8(wd.rep[b].led))
		}
	}
	return wd.watch.key(dst)
}
