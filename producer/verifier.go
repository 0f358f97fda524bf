package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/internal/flight"
	"github.com/sluice-kafka/sluice/internal/inspect"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/sluice-kafka/sluice/throttle"
)

// verifier looks after the partitions in which lanes are quiet. As long as
// checkpoints are taken it asks their leaders now and then whether anything is
// behind what a lane has written (see verified), so that the lane need not read a
// log from far back, or find that part of it deleted, when its next record comes.
type verifier struct {
	pr  *Producer
	ctx context.Context

	mu      sync.Mutex
	due     map[*Lane]struct{} // nil: nobody works on it
	stopped bool
	ended   sync.WaitGroup
}

// verifyEvery is how old a verification may be before it is renewed.
func (pr *Producer) verifyEvery() time.Duration { return pr.cfg.ProducerIDExpiration / 24 }

// refresh has a lane looked after that was just marked, if it is time to.
func (v *verifier) refresh(l *Lane, now time.Time) {
	every := v.pr.verifyEvery()
	if last := l.surveyed.Load(); now.Sub(latest(last, l.verifiedSince())) < every {
		return
	}
	l.surveyed.Store(now)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.stopped {
		return
	}
	if v.due == nil {
		v.due = map[*Lane]struct{}{}
		v.ended.Go(v.run)
	}
	v.due[l] = struct{}{}
}

// run surveys one lane after the other until none is left.
func (v *verifier) run() {
	for l := v.next(); l != nil; l = v.next() {
		ctx, cancel := context.WithTimeout(v.ctx, v.pr.cfg.RequestTimeout)
		if err := l.survey(ctx, func(*topic) bool { return true }); err != nil && v.ctx.Err() == nil {
			v.pr.log.Warn("cannot verify how far a lane has come", "err", err)
		}
		cancel()
	}
}

func (v *verifier) next() *Lane {
	v.mu.Lock()
	defer v.mu.Unlock()
	for l := range v.due {
		delete(v.due, l)
		if v.ctx.Err() == nil && l.Err() == nil {
			return l
		}
	}
	v.due = nil
	return nil
}

// stop waits for what is under way. The context has ended.
func (v *verifier) stop() {
	v.mu.Lock()
	v.stopped = true
	v.mu.Unlock()
	v.ended.Wait()
}

// mostSurveyed is how many partitions one request asks about.
const mostSurveyed = 200

// survey asks the leaders of all partitions of some topics what they have of the
// lane. A partition about which none answers keeps what is known of it.
func (l *Lane) survey(ctx context.Context, some func(*topic) bool) error {
	byBroker := map[*broker][]inspect.Led{}
	for _, t := range *l.topics.Load() {
		if !some(t) || t.parts.Load() == nil {
			continue
		}
		known := len(*t.parts.Load())
		for i, leader := range t.led() {
			if leader.broker != nil && i < known {
				at := inspect.Led{Place: inspect.Place{Topic: t.name, Partition: int32(i)}, Epoch: leader.epoch}
				byBroker[leader.broker] = append(byBroker[leader.broker], at)
			}
		}
	}
	seen := map[inspect.Place]standing{}
	var errs []error
	for b, parts := range byBroker {
		errs = append(errs, l.pr.surveyBroker(ctx, b, parts, l.identity.Load().producerID, seen))
	}
	for _, t := range *l.topics.Load() {
		if some(t) {
			t.verify(seen)
		}
	}
	return errors.Join(errs...)
}

// standing is what a leader had of a lane in a partition.
type standing struct {
	entry inspect.Entry
	end   int64     // of the log, just before
	at    time.Time // when it surely was no deposed leader
}

func (pr *Producer) surveyBroker(ctx context.Context, b *broker, parts []inspect.Led, id int64, seen map[inspect.Place]standing) error {
	c, err := pr.dial(ctx, b.addr.Load())
	if err != nil {
		return err
	}
	defer c.Abandon()
	for len(parts) > 0 {
		some := parts[:min(len(parts), mostSurveyed)]
		parts = parts[len(some):]
		at := time.Now().Add(-flight.ZombieSpan)
		answer, ends, err := inspect.Survey(ctx, c, some)
		if errors.Is(err, conn.ErrNotOffered) {
			return because(ErrCannotAsk, err)
		}
		if err != nil {
			return err
		}
		for _, p := range some {
			end, led := ends[p.Place]
			e, ok := answer.Find(p.Place, id)
			switch code := retry.Code(e.Code); {
			case code == retry.TopicAuthorizationFailed:
				return fmt.Errorf("%q: %w: %w", p.Topic, ErrCannotAsk, code)
			case ok && led && code == retry.None:
				seen[p.Place] = standing{e, end, at}
			}
		}
	}
	return nil
}

// verify takes what was seen of the partitions of the topic. Those that have had
// no record are verified together; one for which that does not hold is made, so
// that it is told apart from then on.
func (t *topic) verify(seen map[inspect.Place]standing) {
	parts := t.parts.Load()
	if parts == nil {
		return
	}
	id, now := t.lane.identity.Load(), time.Now()
	nothing := func(s standing) bool {
		return !s.at.IsZero() && (!s.entry.Known || s.entry.Epoch < int32(id.epoch)) &&
			flight.Remembered(t.verifiedAt(), now, t.pr.cfg.ProducerIDExpiration)
	}
	oldest := now
	for i := range *parts {
		s := seen[inspect.Place{Topic: t.name, Partition: int32(i)}]
		p := (*parts)[i].Load()
		if p == nil && nothing(s) {
			if s.at.Before(oldest) {
				oldest = s.at
			}
			continue
		}
		if p == nil {
			p = t.partition(*parts, int32(i))
		}
		p.verify(s, now)
	}
	if oldest.After(t.verified.Load()) {
		t.verified.Store(oldest)
	}
}

// verify takes what the leader had of the lane, if nothing is under way here.
func (p *partition) verify(s standing, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.at.IsZero() || p.head() != nil || p.fatal != nil || !p.own.Memory.Newer(s.at) {
		return
	}
	st := p.win.State()
	nothing := s.entry.Known && s.entry.Epoch == int32(st.Epoch) && throttle.Sequence(s.entry.Last).Add(1) == st.Next
	if !s.entry.Known || p.own.Position().Next == 0 && s.entry.Epoch < int32(st.Epoch) {
		_, ahead := p.own.Ahead()
		nothing = !ahead && p.own.ShowsAll(now)
	}
	if nothing {
		p.own.Memory.Verify(s.at, s.end)
	}
}
