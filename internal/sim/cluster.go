package sim

import "math/bits"

// logOf is what the controller knows of a partition, and its replicas.
type logOf struct {
	rep     [maxBrokers]replica
	on      uint8 // brokers that hold a replica
	leader  int   // -1: none
	epoch   int32 // of the leader
	isr     uint8
	topic   int32 // incarnation, as its id
	old     [4]leadership
	moved   int64  // time of the last election
	expired uint32 // times that some replica forgot a producer
	aliens  uint32 // batches of another owner of our producer id
	armed   bool   // all forget the producer at the next moment at which a client asks
}

// leadership is what metadata says of a partition.
type leadership struct {
	leader int
	epoch  int32
}

// broker is a machine.
type broker struct {
	up     bool
	paused bool
	pauses int32 // so that the end of an older pause does not end this one
	skew   int64 // of its clock
}

func (b *broker) works() bool { return b.up && !b.paused }

func has(set uint8, b int) bool { return set>>b&1 == 1 }

// elect makes b the leader; -1 leaves the partition without one.
func (s *sim) elect(p, b int) {
	l := &s.logs[p]
	copy(l.old[1:], l.old[:])
	l.old[0] = leadership{l.leader, l.epoch}
	if s.parts[p].unresolvedSent() && s.now-l.moved < 2*seconds && l.epoch > 1 {
		s.effect(eTwoFailovers)
	}
	l.leader, l.moved = b, s.now
	l.epoch++
	if b >= 0 {
		s.judgeElection(p)
	}
	for i := range s.opt.Brokers {
		if has(l.on, i) && s.brokers[i].up {
			s.add(s.learnDelay(i), evLearn, p, i)
		}
	}
}

// learnDelay is how long a broker does not know that a leader changed: mostly
// short, and sometimes long enough to be a zombie.
func (s *sim) learnDelay(b int) int64 {
	h := s.draw(dLearn, b)
	if h&7 == 0 {
		return heavy(h>>8, 2*seconds)
	}
	return s.opt.Fetch/2 + int64(h>>8)%(5*millis)
}

// candidate is a broker of the ISR that works, other than but; -1 for none.
func (s *sim) candidate(p, but int) int {
	l := &s.logs[p]
	n := int(s.draw(dPick, p) % maxBrokers)
	for i := range maxBrokers {
		b := (n + i) % maxBrokers
		if b != but && has(l.isr, b) && s.brokers[b].works() {
			return b
		}
	}
	return -1
}

// learn tells broker b what the controller decided last.
func (s *sim) learn(p, b int) {
	l, r := &s.logs[p], &s.logs[p].rep[b]
	switch {
	case !s.brokers[b].up || r.epoch == l.epoch:
		return
	case s.brokers[b].paused:
		return // resume does it
	}
	was := r.leads
	r.epoch = l.epoch
	r.isr = l.isr
	r.leads = l.leader == b
	r.follows, r.truncated = !r.leads, false
	if r.leads {
		r.epochStart = len(r.log)
		for i := range r.remote {
			r.remote[i] = -1
		}
		r.zombie = false
		s.advance(p, b)
		s.kickFollowers(p)
	}
	if was {
		s.failWaiting(p, b)
	}
	if !r.leads {
		s.kick(p, b, s.fetchDelay(p, b))
	}
}

func (s *sim) fetchDelay(p, b int) int64 {
	d := s.opt.Fetch/2 + s.upTo(dFetch, b, s.opt.Fetch)
	if h, ok := s.strikes(fSlowFetch, b); ok {
		d += heavy(h, 2*seconds)
	}
	return d
}

// kick makes follower b fetch after a while, unless it is about to.
func (s *sim) kick(p, b int, after int64) {
	r := &s.logs[p].rep[b]
	if !r.fetching && r.follows {
		r.fetching = true
		s.add(after, evFetch, p, b)
	}
}

func (s *sim) kickFollowers(p int) {
	for b := range s.opt.Brokers {
		if has(s.logs[p].on, b) && s.logs[p].rep[b].follows {
			s.kick(p, b, s.fetchDelay(p, b))
		}
	}
}

// leaderFor is whom a follower fetches from: the broker that both believe to
// be the leader, in the same epoch. -1 if there is none right now.
func (s *sim) leaderFor(p, b int) int {
	l := &s.logs[p]
	for i := range s.opt.Brokers {
		if r := &l.rep[i]; i != b && r.leads && r.epoch == l.rep[b].epoch && s.brokers[i].works() {
			return i
		}
	}
	return -1
}

// fetch brings follower b up to its leader.
func (s *sim) fetch(p, b int) {
	l, r := &s.logs[p], &s.logs[p].rep[b]
	r.fetching = false
	if !s.brokers[b].works() || !r.follows {
		return
	}
	if s.now < r.joinAfter && !has(l.isr, b) {
		s.kick(p, b, r.joinAfter-s.now)
		return
	}
	from := s.leaderFor(p, b)
	if from < 0 {
		return // it is kicked when there is one
	}
	leader := &l.rep[from]
	if !r.truncated {
		s.truncate(p, b, leader)
	}
	for i := len(r.log); i < len(leader.log); i++ {
		r.append(leader.log[i])
	}
	r.hw = max(r.hw, min(leader.hw, len(r.log)))
	leader.remote[b] = len(r.log)
	s.rejoin(p, b, leader)
	s.advance(p, from)
}

func (s *sim) truncate(p, b int, leader *replica) {
	r := &s.logs[p].rep[b]
	keep := common(r.log, leader.log)
	if keep < len(r.log) {
		if r.zombie {
			s.effect(eZombieTruncated)
		}
		r.rebuild(keep)
	}
	r.truncated, r.zombie = true, false
}

// rejoin lets a follower that has caught up into the ISR again.
func (s *sim) rejoin(p, b int, leader *replica) {
	l, r := &s.logs[p], &s.logs[p].rep[b]
	if leader.epoch != l.epoch || has(l.isr, b) || len(r.log) < leader.hw || len(r.log) < leader.epochStart {
		return
	}
	l.isr |= 1 << b
	leader.isr = l.isr
	s.effect(eRejoined)
}

// shrink takes follower b out of the ISR. The leader asks the controller, so a
// zombie cannot.
func (s *sim) shrink(p, b int, until int64) {
	l := &s.logs[p]
	if b == l.leader || !has(l.isr, b) || l.leader < 0 {
		return
	}
	leader := &l.rep[l.leader]
	if !leader.leads || leader.epoch != l.epoch || !s.brokers[l.leader].works() {
		return
	}
	l.isr &^= 1 << b
	leader.isr = l.isr
	l.rep[b].joinAfter = until
	s.effectAt(eShrunk, p)
	s.kick(p, b, max(until-s.now, 0))
	s.advance(p, l.leader)
}

// advance moves the high watermark of the replica that leads.
func (s *sim) advance(p, b int) {
	r := &s.logs[p].rep[b]
	if !r.leads {
		return
	}
	hw := len(r.log)
	for i := range s.opt.Brokers {
		if i != b && has(r.isr, i) {
			hw = min(hw, r.remote[i])
		}
	}
	if hw > r.hw {
		r.hw = hw
		s.judgeReplicated(p, b)
	}
	s.answerWaiting(p, b)
}

// kill stops a broker. Its connections break; another one leads.
func (s *sim) kill(b int, downFor int64) {
	br := &s.brokers[b]
	if !br.up {
		return
	}
	for p := range s.opt.Partitions {
		s.effectAtIf(s.logs[p].leader == b, eLeaderKilled, p)
	}
	br.up, br.paused = false, false
	s.breakConnections(b)
	for p := range s.opt.Partitions {
		l := &s.logs[p]
		if !has(l.on, b) {
			continue
		}
		r := &l.rep[b]
		r.leads, r.follows, r.epoch = false, false, -1
		if l.leader == b {
			s.elect(p, s.candidate(p, b))
		}
		s.add(300*millis, evLag, p, b)
	}
	s.add(downFor, evUp, b, 0)
}

// startBroker brings a broker back: its memory comes from a snapshot and the log.
func (s *sim) startBroker(b int) {
	if s.brokers[b].up {
		return
	}
	s.brokers[b] = broker{up: true, skew: s.brokers[b].skew, pauses: s.brokers[b].pauses}
	for p := range s.opt.Partitions {
		l := &s.logs[p]
		if !has(l.on, b) {
			continue
		}
		s.reloadMemory(p, b, s.draw(dPick, p)&1 == 0)
		s.leadIfNobodyDoes(p)
		s.add(s.learnDelay(b), evLearn, p, b)
	}
}

// reloadMemory is a restart: a clean one writes a snapshot first.
func (s *sim) reloadMemory(p, b int, clean bool) {
	r := &s.logs[p].rep[b]
	if clean {
		r.snapshot = len(r.log)
		if s.parts[p].inDoubt() > 1 {
			s.effectAt(eSnapshotInDoubt, p)
		}
	}
	r.rebuild(len(r.log))
	s.forget(p, b)
}

func (s *sim) leadIfNobodyDoes(p int) {
	if s.logs[p].leader < 0 {
		if b := s.candidate(p, -1); b >= 0 {
			s.elect(p, b)
		}
	}
}

// pause stops a broker's processes, and time does not stop. After the session
// timeout another one leads, and the paused one wakes up as a zombie.
func (s *sim) pause(b int, pauseFor int64) {
	br := &s.brokers[b]
	if !br.works() {
		return
	}
	br.paused = true
	br.pauses++
	s.add(pauseFor, evResume, b, int(br.pauses))
	for p := range s.opt.Partitions {
		if has(s.logs[p].on, b) {
			s.add(400*millis, evLag, p, b)
		}
	}
}

func (s *sim) resume(b int, pause int32) {
	br := &s.brokers[b]
	if !br.paused || br.pauses != pause {
		return
	}
	br.paused = false
	for p := range s.opt.Partitions {
		l := &s.logs[p]
		if !has(l.on, b) {
			continue
		}
		s.leadIfNobodyDoes(p)
		s.add(s.learnDelay(b), evLearn, p, b)
		s.kick(p, b, s.fetchDelay(p, b))
		if l.rep[b].leads {
			s.kickFollowers(p)
		}
	}
	s.wakeConnections(b)
}

// lag is the end of the patience with a broker that does not work.
func (s *sim) lag(p, b int) {
	l := &s.logs[p]
	if s.brokers[b].works() {
		return
	}
	if l.leader != b {
		s.shrink(p, b, s.now)
		return
	}
	if next := s.candidate(p, b); next >= 0 {
		s.effectAt(eLeaderPaused, p)
		s.elect(p, next)
		s.add(300*millis, evLag, p, b)
	}
}

// move is a clean election while the old leader lives.
func (s *sim) move(p int) bool {
	l := &s.logs[p]
	if bits.OnesCount8(l.isr) < 2 || l.leader < 0 {
		return false
	}
	b := s.candidate(p, l.leader)
	if b >= 0 {
		s.elect(p, b)
	}
	return b >= 0
}
