package sim

import (
	"fmt"
	"slices"
)

// kind of event
type kind uint8

const (
	evAdmit    kind = iota // the caller produces
	evArrive               // a request reaches the broker
	evServe                // the broker takes it
	evPurge                // the timeout inside the request
	evAnswer               // a response reaches the client
	evFetch                // a follower fetches
	evLearn                // a broker learns who leads
	evLag                  // patience with a broker ends
	evUp                   // a broker starts
	evResume               // a broker goes on
	evKill                 // a broker stops after it was asked to
	evForget               // a broker looks for producers to forget
	evPart                 // the timer of a partition
	evLink                 // the timer of a link
	evDial                 // a connection is made
	evMetadata             // the answer to a question for metadata
	evProducer             // a new producer id
	evRead                 // a broker serves a part of its log
	evReadDone
	evWeather // a fault
	evUnclean // a leader from outside the ISR
	evHeal    // no more faults
	evEnd
	kinds
)

// Times after the faults.
const (
	livenessTime = 20 * seconds
	quietTime    = 12 * seconds // stragglers come to their end
)

// lastEpochs is where a first epoch means that no other producer id comes in
// time.
const lastEpochs = 32_000

// maxSteps is the number of steps after which a run counts as a busy loop.
const maxSteps = 300_000

// sim is one run. It can be used for one after another, to keep its memory.
type sim struct {
	agenda
	chance
	opt      Options
	v        variant
	now      int64
	steps    int
	healed   bool
	over     bool
	unclean  bool
	hopeless bool // no client survives what comes now
	aliens   bool // another owner of our producer id has written
	broken   string
	trace    func(string)

	brokers [maxBrokers]broker
	logs    [maxPartitions]logOf
	parts   [maxPartitions]part
	links   []link
	conns   []conn
	used    int // conns that this run has made
	oldest  int // of those that are not gone

	owed      [maxPartitions]int // answers of connections that a partition left (a variant does)
	exhausted [maxPartitions]bool
	ident     int32
	asking    bool
	renewing  bool
	outcomes  [4]uint64 // batches
	effects   Effects
	draft     request // that is being built
	asked     [maxPartitions]int
	matrix    Matrix
	phases    Phases
}

func (s *sim) effect(e effect) { s.effects[e]++ }

func (s *sim) effectIf(ok bool, e effect) {
	if ok {
		s.effects[e]++
	}
}

func (s *sim) violate(what string) {
	if s.v.logOnly && slices.Contains(wireRules, what[:3]) {
		return
	}
	if s.broken == "" {
		s.broken = what
	}
}

// wireRules are the invariants that watch.go judges.
var wireRules = []string{"I10", "I11", "I12", "I13", "I14"}

func (s *sim) addAt(at int64, k kind, a, b int) {
	s.agenda.add(event{at: at, kind: k, a: int32(a), b: int32(b)})
}

func (s *sim) add(after int64, k kind, a, b int) { s.addAt(s.now+after, k, a, b) }

// merciless is the time in which no deadline frees what is stuck.
func (s *sim) merciless() bool {
	return s.healed && !s.unclean && !s.aliens && s.opt.LatestIsDuplicate == 0 && s.opt.Epoch < lastEpochs
}

// run plays a seed to its end.
func (s *sim) run(seed uint64, opt Options, kept []uint64, only bool) {
	s.start(seed, opt, kept, only)
	defer func() {
		if r := recover(); r != nil {
			if _, isError := r.(error); isError {
				panic(r) // a fault of the simulation itself
			}
			s.violate(fmt.Sprint("panic: ", r))
		}
	}()
	for s.broken == "" && len(s.heap) > 0 && !s.over {
		e := s.next()
		s.now = e.at
		s.steps++
		if s.trace != nil {
			s.tell(&e)
		}
		s.handle(&e)
		if s.steps > maxSteps {
			s.violate("I20: too many steps")
		}
	}
	if s.broken == "" && !s.hopeless {
		s.judgeEnd()
	}
}

func (s *sim) start(seed uint64, opt Options, kept []uint64, only bool) {
	*s = sim{
		agenda: agenda{heap: s.heap[:0]}, conns: s.conns, links: s.links[:0], parts: s.parts, logs: s.logs,
		opt: opt, v: s.v, trace: s.trace, effects: s.effects, outcomes: s.outcomes, matrix: s.matrix, phases: s.phases,
		chance: chance{seed: seed, kept: kept, only: only, hits: s.hits[:0], rate: opt.rate},
	}
	s.ident = 1
	for b := range opt.Brokers {
		s.brokers[b] = broker{up: true, skew: s.upTo(dSwarm, 1, opt.Expiration/8) - opt.Expiration/16}
		for range opt.Connections {
			s.links = append(s.links, link{broker: b})
		}
		s.add(s.upTo(dPause, b, opt.Expiration/8), evForget, b, 0)
	}
	for p := range opt.Partitions {
		s.startPartition(p)
		s.add(s.upTo(dPause, p, 10*millis), evAdmit, p, 0)
	}
	s.forecast()
	s.addAt(opt.Faults, evHeal, 0, 0)
}

func (s *sim) startPartition(p int) {
	s.resetPart(p)
	l := &s.logs[p]
	reps := l.rep
	*l = logOf{rep: reps, epoch: 0, leader: -1}
	for b := range l.rep {
		l.rep[b].reset()
		l.rep[b].epoch = -1
	}
	first := int(s.upTo(dPick, p, int64(s.opt.Brokers)))
	for k := range s.opt.Replicas {
		l.on |= 1 << ((first + k) % s.opt.Brokers)
	}
	l.isr = l.on
	if late := (first + 1) % s.opt.Brokers; late != first && s.opt.rate[fUnclean] > 0 && has(l.on, late) && s.draw(dPick, p)&1 == 0 {
		l.isr &^= 1 << late // an unclean election soon finds it empty
		l.rep[late].joinAfter = 3 * seconds
		s.add(s.upTo(dPause, p, seconds), evWeather, int(fUnclean), 0)
	}
	s.elect(p, first)
}

func (s *sim) newConn(li int) int {
	if s.used == len(s.conns) {
		s.conns = append(s.conns, conn{})
	}
	s.conns[s.used].reset(li, s.links[li].broker)
	s.used++
	for s.oldest < s.used && s.conns[s.oldest].gone {
		s.oldest++
	}
	return s.used - 1
}

func (s *sim) handle(e *event) {
	a, b := int(e.a), int(e.b)
	switch e.kind {
	case evAdmit:
		s.produce(a)
	case evArrive:
		s.arrive(a)
	case evServe:
		s.serve(a, e.b)
	case evPurge:
		s.purge(a, e.b)
	case evAnswer:
		s.answer(a)
	case evFetch:
		s.fetch(a, b)
	case evLearn:
		s.learn(a, b)
	case evLag:
		s.lag(a, b)
	case evUp:
		s.startBroker(a)
	case evResume:
		s.resume(a, e.b)
	case evKill:
		s.kill(a, int64(b)*millis)
	case evForget:
		s.expirations(a)
	case evPart:
		s.partTimer(a)
	case evLink:
		s.linkTimer(a)
	case evDial:
		s.dialed(a, e.b)
	case evMetadata:
		s.metadata()
	case evProducer:
		s.ident++
		s.renewing = false
		for i := range s.opt.Partitions {
			s.look(i)
		}
	case evRead:
		s.readLog(a, e.b)
	case evReadDone:
		s.audited(a, e.b)
	case evWeather:
		s.weather(domain(a))
	case evUnclean:
		s.electUnclean(a)
	case evHeal:
		s.heal()
	default:
		s.end(a)
	}
}

// produce is a burst of the caller.
func (s *sim) produce(i int) {
	p := &s.parts[i]
	if p.own.Stopped() { // it takes no more
		p.admitted = s.opt.Batches
		return
	}
	for range 1 + s.upTo(dSize, i, int64(s.opt.Load)) {
		if p.admitted < s.opt.Batches && p.size() < 400 {
			s.admit(i)
		}
	}
	if p.admitted >= s.opt.Batches {
		return
	}
	gap := 1 + s.upTo(dPause, i, s.opt.Gap)
	if s.opt.IdleGaps == 1 && s.draw(dPause, i)%16 == 0 && !s.healed {
		gap += s.opt.Expiration/3 + s.upTo(dPause, i, s.opt.Expiration)
	}
	s.add(gap, evAdmit, i, 0)
}

// heal ends the faults: brokers start and go on, holes stay until the client
// notices.
func (s *sim) heal() {
	s.calm, s.healed = true, true
	for b := range s.opt.Brokers {
		s.startBroker(b)
		s.resume(b, s.brokers[b].pauses)
	}
	s.add(livenessTime, evEnd, 0, 0)
}

// end judges that everything is resolved. Then the last stragglers come to
// their end.
func (s *sim) end(round int) {
	if round == 0 {
		waiting := false
		for i := range s.opt.Partitions {
			waiting = waiting || s.parts[i].admitted < s.opt.Batches
		}
		if waiting { // the caller is not through yet
			s.add(livenessTime, evEnd, 0, 0)
			return
		}
		s.add(livenessTime, evEnd, 1, 0)
		return
	}
	if round == 1 {
		s.judgeLiveness()
		s.add(quietTime, evEnd, 2, 0)
		return
	}
	s.over = true
}

func (s *sim) tell(e *event) {
	names := [kinds]string{
		"admit", "arrive", "serve", "purge", "answer", "fetch", "learn", "lag", "up", "resume", "kill", "forget", "part", "link",
		"dial", "metadata", "producer", "read", "read-done", "weather", "unclean", "heal", "end",
	}
	s.trace(fmt.Sprintf("%9.3f ms %s %d %d", float64(e.at)/float64(millis), names[e.kind], e.a, e.b))
}
