package sim

import "github.com/sluice-kafka/sluice/retry"

// piece is one batch in a request, and the answer to it.
type piece struct {
	part        int
	topic       int32
	pid         int32
	epoch       int16
	base, count int32
	first       uint32
	units       uint16
	batch       uint64 // its number in the window
	stamp       int64
	poison      retry.Code // what every broker answers

	code   retry.Code
	offset int64 // -1: none in the answer
	omit   bool
	led    int32 // leader epoch of the replica that judged it
	place  int   // entries that must be replicated before the answer; 0: it is there
	hint   leadership

	// of the answer to a question: what the broker knows of pid
	known bool
	last  int32
	alien bool // that was written by another owner
}

const maxPieces = maxPartitions

// request is what stands in the queue of a connection.
type request struct {
	n        int
	question bool // DescribeProducers, and not Produce
	p        [maxPieces]piece
	throttle int64
	sent     int64
}

// conn is one connection, from when it is made. It goes on after the client has
// left it, for as long as a broker may still execute what was sent.
//
//	          answered       served        arrived          len(reqs)
//	responses    |  on the way  |   waiting   |   on the way   |
type conn struct {
	link   int
	broker int
	live   bool // the client uses it
	gone   bool // nothing of it will be executed any more
	reqs   []request

	answered, served, arrived int
	state                     connState
	turn                      int32 // to tell an event of an earlier request from one of this
	lastArrival, lastAnswer   int64
	mutedUntil                int64 // by the broker (KIP-219)
	holeIn, holeOut           bool
}

type connState uint8

const (
	connIdle    connState = iota
	connServing           // evServe is under way
	connWaiting           // appended, not yet replicated
)

func (c *conn) reset(link, broker int) {
	*c = conn{link: link, broker: broker, live: true, reqs: c.reqs[:0]}
}

func (c *conn) inFlight() int { return len(c.reqs) - c.answered }

// send puts the request that was appended to reqs on the way.
func (s *sim) send(id int) {
	c := &s.conns[id]
	n := len(c.reqs)
	c.reqs[n-1].sent = s.now
	if c.holeIn {
		return
	}
	at := s.now + s.netDelay(c.broker)
	c.lastArrival = max(c.lastArrival+1, at)
	s.addAt(c.lastArrival, evArrive, id, 0)
}

func (s *sim) netDelay(b int) int64 {
	d := s.opt.Latency/2 + s.upTo(dNet, b, s.opt.Latency)
	if h, ok := s.strikes(fDelay, b); ok {
		s.effect(eDelay)
		d += heavy(h, seconds)
	}
	return d
}

func (s *sim) arrive(id int) {
	c := &s.conns[id]
	if c.gone || !c.live || c.holeIn {
		return
	}
	c.arrived++
	s.serveNext(id)
}

// serveNext lets the broker take the next request. It serves one of a
// connection at a time.
func (s *sim) serveNext(id int) {
	c := &s.conns[id]
	if c.state != connIdle || c.served == c.arrived || c.gone {
		return
	}
	c.state = connServing
	c.turn++
	at := max(s.now, c.mutedUntil) + s.opt.Disk/2 + s.upTo(dDisk, c.broker, s.opt.Disk)
	s.addAt(at, evServe, id, int(c.turn))
}

// respond sends the answer to the request in hand, and takes the next one.
func (s *sim) respond(id int) {
	c := &s.conns[id]
	rq := &c.reqs[c.served]
	c.served++
	c.state = connIdle
	if !c.live {
		s.straggleNext(id)
		return
	}
	if _, ok := s.strikes(fLoseAnswer, c.broker); ok {
		if rq.appended() {
			s.effectOn(eAnswerLost, id)
		}
		s.breakConn(id)
		return
	}
	if h, ok := s.strikes(fThrottle, c.broker); ok {
		rq.throttle = millis + int64(h%300)*millis
		c.mutedUntil = s.now + rq.throttle
	}
	s.leaveOut(rq, c.broker)
	if !c.holeOut {
		c.lastAnswer = max(c.lastAnswer+1, s.now+s.netDelay(c.broker))
		s.addAt(c.lastAnswer, evAnswer, id, 0)
	}
	s.serveNext(id)
}

// leaveOut lets the broker forget entries of a response.
func (s *sim) leaveOut(rq *request, b int) {
	for i := range rq.n {
		if _, ok := s.strikes(fOmit, b); ok && !rq.question {
			rq.p[i].omit = true
		}
	}
}

func (rq *request) appended() bool {
	for i := range rq.n {
		if rq.p[i].offset >= 0 {
			return true
		}
	}
	return false
}

// breakConn ends a connection from the broker's side: the client notices, and
// what it sent may be executed later.
func (s *sim) breakConn(id int) {
	c := &s.conns[id]
	if c.live {
		link := c.link
		s.leave(id)
		s.linkLost(link)
	}
}

// leave is the end of a connection for the client. Some of what was sent and
// not yet served is executed later: a prefix, for bytes arrive in order.
func (s *sim) leave(id int) {
	c := &s.conns[id]
	c.live = false
	c.turn++
	waiting := len(c.reqs) - c.served
	if c.state == connWaiting {
		c.served++ // it is in the log already
		waiting--
	}
	c.state = connIdle
	n := 0
	if h := s.draw(dStraggle, c.broker); waiting > 0 && s.opt.Straggle > 0 && h&3 != 0 && !s.calm {
		n = int((h >> 8) % uint64(waiting+1))
	}
	if c.holeIn && n > 0 {
		s.effect(eStragglerHeldBack)
	}
	c.arrived = c.served + n
	if n == 0 || !s.brokers[c.broker].up {
		c.gone = true
		return
	}
	s.straggleNext(id)
}

// straggleNext lets the broker execute another request of a connection that the
// client has left.
func (s *sim) straggleNext(id int) {
	c := &s.conns[id]
	if c.served == c.arrived {
		c.gone = true
		return
	}
	c.state = connServing
	c.turn++
	h := s.draw(dStraggle, c.broker)
	longest := s.opt.Straggle
	if h&3 != 0 {
		longest = 20 * millis // mostly it follows the one before
	}
	s.add(heavy(h>>8, longest), evServe, id, int(c.turn))
}

// breakConnections is the death of a broker: every connection breaks, and what
// it had not taken is never executed.
func (s *sim) breakConnections(b int) {
	for id := range s.used {
		if c := &s.conns[id]; c.broker == b && !c.gone {
			s.breakConn(id)
			c.gone = true
		}
	}
}

// wakeConnections goes on with what a paused broker had in hand.
func (s *sim) wakeConnections(b int) {
	for id := range s.used {
		c := &s.conns[id]
		if c.broker != b || c.gone {
			continue
		}
		if c.state == connServing {
			c.turn++
			s.add(s.opt.Disk, evServe, id, int(c.turn))
		}
	}
	for p := range s.opt.Partitions {
		if s.logs[p].rep[b].leads {
			s.advance(p, b)
		}
	}
}
