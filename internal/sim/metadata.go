package sim

import (
	"slices"

	"github.com/sluice-kafka/sluice/internal/flight"
)

// refresh asks for metadata.
func (s *sim) refresh() {
	if !s.asking {
		s.asking = true
		s.add(10*millis+s.opt.Latency, evMetadata, 0, 0)
	}
}

func (s *sim) metadata() {
	s.asking = false
	for i := range s.opt.Partitions {
		s.metadataOf(i)
	}
	for i := range s.opt.Partitions {
		s.look(i)
	}
}

func (s *sim) metadataOf(i int) {
	l, p := &s.logs[i], &s.parts[i]
	if _, ok := s.strikes(fMissingMetadata, i); ok {
		s.effectAt(eMissingMetadata, i)
		if s.v.restart != nil && s.regate(i) {
			s.v.restart(s, p)
		}
		return
	}
	view := leadership{l.leader, l.epoch}
	if h, ok := s.strikes(fStaleMetadata, i); ok {
		view = l.old[h&3]
		s.effectAtIf(view.epoch < l.epoch && view.epoch >= p.leaderEpoch, eStaleMetadata, i)
	}
	if _, ok := s.strikes(fBackwardMetadata, i); ok && l.old[3].epoch > 0 {
		view = l.old[3]
		s.effectAtIf(view.epoch < p.leaderEpoch, eBackwardMetadata, i)
	}
	if l.topic > p.topicSeen {
		p.topicSeen = l.topic
		p.leaderEpoch = -1
		var fx flight.Effects
		p.own.Recreated(at(s.now), &fx)
		s.carry(i, fx)
		s.rests(i)
	}
	s.retarget(i, view)
}

// maxOlder is how many answers in a row may be ignored because their leader
// epoch is older than the known one (internal/cluster).
const maxOlder = 5

// retarget says who leads the partition. Older news is no news (KIP-320).
func (s *sim) retarget(i int, to leadership) {
	p := &s.parts[i]
	if to.epoch < p.leaderEpoch {
		if p.older++; p.older < maxOlder {
			return
		}
		s.effect(eWentBack)
	}
	p.older = 0
	if to.epoch == p.leaderEpoch && to.leader == p.target {
		return
	}
	newer := to.epoch > p.leaderEpoch
	p.target, p.leaderEpoch = to.leader, to.epoch
	p.watch.gated(p.win.Outstanding() > 0)
	if !s.v.movesUndrained {
		var fx flight.Effects
		p.own.Follow(newer, at(s.now), &fx)
		s.carry(i, fx)
	}
	s.notePhase(i)
	s.settleDown(i)
}

// renew asks for another producer id.
func (s *sim) renew() {
	if s.opt.Epoch >= lastEpochs && !slices.Contains(s.exhausted[:], true) {
		return // nobody answers before it is too late
	}
	if !s.renewing {
		s.renewing = true
		s.add(5*s.opt.Latency, evProducer, 0, 0)
	}
}
