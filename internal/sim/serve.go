package sim

import (
	"math/bits"

	"github.com/sluice-kafka/sluice/internal/brokermodel"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// Codes that a broker, or another implementation of the protocol, may answer.
var (
	refusals = []retry.Code{
		retry.UnknownTopicOrPartition, retry.LeaderNotAvailable, retry.NotLeaderOrFollower, retry.ReplicaNotAvailable,
		retry.NetworkException, retry.CoordinatorLoadInProgress, retry.NotEnoughReplicas, 74, 75, 78, 89, 72,
		retry.CorruptMessage, retry.CorruptMessage,
	}
	refusalsForGood = []retry.Code{
		retry.MessageTooLarge, retry.MessageTooLarge, retry.RecordListTooLarge, retry.InvalidTopic, retry.InvalidTopic,
		retry.InvalidTimestamp, retry.InvalidTimestamp, retry.UnsupportedVersion, 87, 76, 44, 43, retry.InvalidRequest,
	}
	poisons = []retry.Code{
		retry.CorruptMessage, 999, retry.MessageTooLarge, retry.RecordListTooLarge, 87,
	}
	uncertain = []retry.Code{
		retry.UnknownServerError, 56, retry.RequestTimedOut, retry.NotEnoughReplicasAfterAppend, 999, -30000,
	}
)

// serve lets the broker take the request in hand.
func (s *sim) serve(id int, turn int32) {
	c := &s.conns[id]
	b := c.broker
	if c.gone || c.turn != turn || !s.brokers[b].works() {
		return // a paused broker goes on when it resumes
	}
	if _, ok := s.strikes(fLoseRequest, b); ok && c.live {
		s.effectOn(eRequestLost, id)
		c.state = connIdle
		s.breakConn(id)
		return
	}
	rq := &c.reqs[c.served]
	if rq.question {
		s.describe(id, rq)
		s.respond(id)
		return
	}
	waits := false
	for i := range rq.n {
		s.judgePiece(b, &rq.p[i], c.live)
		waits = waits || rq.p[i].place > 0
	}
	if !waits || !c.live {
		s.respond(id)
		return
	}
	c.state = connWaiting
	s.add(s.opt.RequestTimeout*2/3, evPurge, id, int(c.turn))
	s.answerConn(id)
}

// judgePiece answers one batch, in the order in which a broker checks.
func (s *sim) judgePiece(b int, m *piece, live bool) {
	l, r := &s.logs[m.part], &s.logs[m.part].rep[b]
	m.offset, m.place, m.code, m.led = -1, 0, retry.None, r.epoch
	refuse := func(code retry.Code) { m.code = code }
	switch {
	case m.topic != l.topic:
		refuse(retry.UnknownTopicID)
		return
	case !r.leads:
		refuse(retry.NotLeaderOrFollower)
		m.hint = leadership{l.leader, l.epoch}
		return
	case bits.OnesCount8(r.isr) < s.opt.MinISR:
		s.effectAtIf(live, eBelowMinBefore, m.part)
		refuse(retry.NotEnoughReplicas)
		return
	}
	if m.poison != retry.None {
		refuse(m.poison)
		return
	}
	if live && s.refuses(b, m) {
		return
	}
	if !live && s.impossible(r, m) {
		return
	}
	k := r.producer(m.pid)
	var state brokermodel.Producer
	if k != nil {
		state = k.state
	}
	rules := s.opt.rules(b)
	v, at := rules.Judge(&state, len(r.log) == 0, m.epoch, m.base, m.count)
	if v == brokermodel.Append && k == nil && m.base != 0 {
		if s.opt.Legacy == 1 {
			s.effect(eUnknownProducer)
			refuse(retry.UnknownProducerID)
			return
		}
		s.effect(eAnyFirst)
	}
	if live && (v == brokermodel.Append || v == brokermodel.Recognised) {
		r.promised = 0
	}
	switch v {
	case brokermodel.Append:
		s.appendPiece(b, m, live)
		m.place = len(r.log)
		m.offset = r.log[m.place-1].offset
	case brokermodel.Recognised:
		s.recognised(m, live, &state)
		m.place, m.offset = int(at)+1, r.log[at].offset
		if s.opt.LatestIsDuplicate == 1 && rules.Window > 0 {
			m.place, m.offset = 0, -1
			refuse(retry.DuplicateSequenceNumber)
		}
	case brokermodel.Duplicate:
		s.effectIf(live, eDuplicate)
		refuse(retry.DuplicateSequenceNumber)
	case brokermodel.OutOfOrder:
		s.effectIf(live, eOutOfOrder)
		s.effectIf(!live && s.outcomeOf(m) == written, eStragglerAfterAck)
		refuse(retry.OutOfOrderSequenceNumber)
	case brokermodel.Fenced:
		s.effectIf(!live, eStragglerFenced)
		refuse(retry.InvalidProducerEpoch)
	}
	s.errAfter(b, m, live)
}

func (s *sim) recognised(m *piece, live bool, state *brokermodel.Producer) {
	if !live {
		s.effectIf(s.outcomeOf(m) == written, eStragglerAfterAck)
		return
	}
	s.effect(eRecognised)
	p := *state
	if p.Reload(); p == *state {
		s.effect(eMemoryOfOne)
	}
}

// refuses lets a fault answer in the place of the log, before the append.
func (s *sim) refuses(b int, m *piece) bool {
	if h, ok := s.strikes(fRefuse, b); ok {
		m.code = refusals[h%uint64(len(refusals))]
		s.effectAt(eRefused, m.part)
		return true
	}
	if h, ok := s.strikes(fRefuseGood, b); ok {
		m.code = refusalsForGood[h%uint64(len(refusalsForGood))]
		s.effectAt(eRefusedGood, m.part)
		return true
	}
	if h, ok := s.strikes(fErrorBefore, b); ok {
		m.code = uncertain[h%uint64(len(uncertain))]
		s.effectIf(m.code >= 200, eStrangeCode)
		s.effectAt(eUncertainBefore, m.part)
		return true
	}
	return false
}

// errAfter answers with an error although the batch is in the log. A broker
// keeps the base offset then, apart from a failure of its own.
func (s *sim) errAfter(b int, m *piece, live bool) {
	if m.place == 0 || !live {
		return
	}
	if h, ok := s.strikes(fErrorAfter, b); ok {
		codes := append(uncertain[:4:4], retry.NotLeaderOrFollower, retry.UnknownTopicOrPartition)
		m.code, m.place = codes[h%uint64(len(codes))], 0
		if m.code == retry.UnknownServerError || m.code == 56 {
			m.offset = -1
		}
		s.effectAt(eUncertainAfter, m.part)
	}
}

// impossible says of a straggler that the broker has forgotten its producer
// since, lost its state in an unclean election, or that half of all sequences were used since: no client can stand
// that, so it does not happen here.
func (s *sim) impossible(r *replica, m *piece) bool {
	if m.count > throttle.MaxWindow { // the batch that leads up to the wrap
		m.code = retry.UnknownServerError
		return true
	}
	if s.logs[m.part].expired == 0 && !s.unclean {
		return false
	}
	if k := r.producer(m.pid); k != nil {
		if e, ok := k.state.Known(); ok && e >= m.epoch {
			return false
		}
	}
	s.effect(eStragglerForgotten)
	m.code = retry.UnknownServerError
	return true
}

func (s *sim) appendPiece(b int, m *piece, live bool) {
	l, r := &s.logs[m.part], &s.logs[m.part].rep[b]
	r.append(entry{
		pid: m.pid, epoch: m.epoch, base: m.base, count: m.count, first: m.first, units: m.units,
		leaderEpoch: r.epoch, stamp: m.stamp,
	})
	if r.epoch < l.epoch {
		r.zombie = true
		s.effectAt(eZombieAppend, m.part)
	}
	if !live {
		s.effectAt(eStragglerAppended, m.part)
		s.effectIf(s.now-l.moved < s.opt.Straggle && l.epoch > 1, eStragglerAfterMove)
	}
	s.effectIf(m.base > brokermodel.Add(m.base, m.count), eWrapped)
	s.advance(m.part, b)
	for f := range s.opt.Brokers {
		if f != b && has(l.on, f) && l.rep[f].follows {
			s.kick(m.part, f, s.fetchDelay(m.part, f))
		}
	}
}

// answerWaiting answers what waited for the high watermark of broker b.
func (s *sim) answerWaiting(p, b int) {
	if !s.brokers[b].works() {
		return
	}
	for id := s.oldest; id < s.used; id++ {
		c := &s.conns[id]
		if c.broker != b || c.state != connWaiting || c.gone {
			continue
		}
		if rq := &c.reqs[c.served]; rq.has(p) {
			s.answerConn(id)
		}
	}
}

func (rq *request) has(p int) bool {
	for i := range rq.n {
		if rq.p[i].part == p {
			return true
		}
	}
	return false
}

// answerConn answers the request in hand if all of it is replicated.
func (s *sim) answerConn(id int) {
	c := &s.conns[id]
	rq := &c.reqs[c.served]
	for i := range rq.n {
		m := &rq.p[i]
		r := &s.logs[m.part].rep[c.broker]
		if m.place == 0 || m.code != retry.None {
			continue
		}
		if r.hw < m.place {
			return
		}
	}
	for i := range rq.n {
		m := &rq.p[i]
		r := &s.logs[m.part].rep[c.broker]
		if m.place > 0 && m.code == retry.None && bits.OnesCount8(r.isr) < s.opt.MinISR {
			m.code = retry.NotEnoughReplicasAfterAppend
			s.effectAt(eBelowMinAfter, m.part)
		}
	}
	s.respond(id)
}

// failWaiting answers what waited on a leader that is none any more. The base
// offset stays in the answer.
func (s *sim) failWaiting(p, b int) {
	for id := s.oldest; id < s.used; id++ {
		c := &s.conns[id]
		if c.broker != b || c.state != connWaiting || c.gone {
			continue
		}
		rq := &c.reqs[c.served]
		found := false
		for i := range rq.n {
			if m := &rq.p[i]; m.part == p && m.place > 0 && m.code == retry.None {
				m.code, found = retry.NotLeaderOrFollower, true
				s.effectAt(eDeposedAfterAppend, m.part)
			}
		}
		if found {
			s.answerConn(id)
		}
	}
}

// purge is the end of the timeout inside a request.
func (s *sim) purge(id int, turn int32) {
	c := &s.conns[id]
	if c.gone || c.turn != turn || c.state != connWaiting || !s.brokers[c.broker].works() {
		s.steps-- // it was answered in time: nothing happened
		return
	}
	rq := &c.reqs[c.served]
	for i := range rq.n {
		m := &rq.p[i]
		if m.place > 0 && m.code == retry.None && s.logs[m.part].rep[c.broker].hw < m.place {
			m.code = retry.RequestTimedOut
			s.effectAt(ePurgatory, m.part)
		}
	}
	s.answerConn(id)
}
