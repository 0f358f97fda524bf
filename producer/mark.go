package producer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mark is a point in the order of Produce calls of a lane: some records lie
// before it, the others behind.
type Mark struct {
	lane   *Lane
	id     *identity
	taken  time.Time
	topics []TopicCheckpoint

	mu    sync.Mutex
	left  int // partitions that have not come so far
	done  chan struct{}
	parts []PartitionCheckpoint
	err   error
}

// pendingMark is a mark that a partition has not reached.
type pendingMark struct {
	m  *Mark
	at uint64 // records accepted before it
}

// Mark marks the present point: records whose Produce returned before the call
// lie before it, those of calls that begin after its return lie behind. It waits
// only while the lane has no producer ID yet or a topic of it is not known; so
// it costs nothing to mark often, and let Mark.Checkpoint wait elsewhere.
func (l *Lane) Mark(ctx context.Context) (*Mark, error) {
	if l.pr.delivery.inCallback() {
		return nil, ErrInCallback
	}
	if f := l.broken.Load(); f != nil {
		return nil, fmt.Errorf("producer: checkpoint: %w", f.err)
	}
	if err := l.identify(ctx); err != nil {
		return nil, err
	}
	if err := l.declare(ctx); err != nil {
		return nil, fmt.Errorf("producer: checkpoint: %w", err)
	}
	if err := l.pr.flushTopics(ctx, l.only); err != nil {
		return nil, err
	}
	m := &Mark{lane: l, id: l.identity.Load(), taken: time.Now().Round(0), done: make(chan struct{}), left: 1}
	l.firstMark.Do(func() { l.marked.Store(m.taken) })
	m.topics = l.topicCheckpoints()
	if f := l.broken.Load(); f != nil { // also by what waited for its topic
		return nil, fmt.Errorf("producer: checkpoint: %w", f.err)
	}
	l.each(func(p *partition) { p.placeMark(m) })
	m.reached()
	l.pr.verifier.refresh(l, m.taken)
	return m, nil
}

// Checkpoint is Mark, and the Checkpoint of that.
func (l *Lane) Checkpoint(ctx context.Context) (Checkpoint, error) {
	m, err := l.Mark(ctx)
	if err != nil {
		return Checkpoint{}, err
	}
	return m.Checkpoint(ctx)
}

// identify waits until the lane has a producer ID: a process that dies before
// its first checkpoint could not be carried on without one.
func (l *Lane) identify(ctx context.Context) error {
	if l.identity.Load() != nil {
		return nil
	}
	l.pr.control.renew(l)
	err := l.pr.delivery.await(ctx, func() bool { return l.identity.Load() != nil || l.pr.closing.Load() })
	switch {
	case err != nil:
		return fmt.Errorf("producer: checkpoint: %w", because(err, l.pr.control.lastError()))
	case l.identity.Load() == nil:
		return fmt.Errorf("producer: checkpoint: %w", ErrClosed)
	}
	return nil
}

// awaitTopics waits until all topics are known that want says.
func (l *Lane) awaitTopics(ctx context.Context, want func(*topic) bool) error {
	var missing *topic
	known := func() bool {
		missing = nil
		for _, t := range *l.topics.Load() {
			if want(t) && t.parts.Load() == nil {
				missing = t
			}
		}
		return missing == nil
	}
	if known() {
		return nil
	}
	l.awaiting.Inc() // so that control goes on asking
	defer l.awaiting.Dec()
	l.pr.control.refresh()
	err := l.pr.delivery.await(ctx, func() bool { return known() || l.pr.closing.Load() })
	switch {
	case err != nil:
		return fmt.Errorf("topic %q is not known: %w", missing.name, because(err, l.pr.control.lastError()))
	case missing != nil:
		return ErrClosed
	}
	return nil
}

// declare makes the partitions of the topics for which the lane was made, so
// that the first checkpoint has them all, with the ends of their logs.
func (l *Lane) declare(ctx context.Context) error {
	declared := func(t *topic) bool { return t.declared.Load() }
	if err := l.awaitTopics(ctx, declared); err != nil {
		return err
	}
	if !l.alone() {
		return nil
	}
	for _, t := range *l.topics.Load() {
		if declared(t) {
			parts := *t.parts.Load()
			for i := range parts {
				t.partition(parts, int32(i))
			}
		}
	}
	err := l.survey(ctx, declared)
	if err != nil && !errors.Is(err, ErrCannotAsk) && ctx.Err() == nil {
		l.pr.log.Warn("a lane begins without the ends of some logs", "err", err)
		return nil // some leader is not there; it matters only if its partition becomes a rare case
	}
	return err
}

// topicCheckpoints is what a checkpoint says of the topics of the lane.
func (l *Lane) topicCheckpoints() []TopicCheckpoint {
	var all []TopicCheckpoint
	for _, t := range *l.topics.Load() {
		if t.parts.Load() != nil {
			all = append(all, TopicCheckpoint{
				Topic: t.name, TopicID: t.knownID(), Partitions: t.spread.Load(), Verified: t.verifiedAt(),
			})
		}
	}
	slices.SortFunc(all, func(a, b TopicCheckpoint) int { return strings.Compare(a.Topic, b.Topic) })
	return all
}

// Checkpoint waits until everything before the mark is written, and returns how
// far the lane was there. Nothing behind the mark is counted. It fails if a
// record of the lane is not known to be written, and when ctx ends; then it may
// be called again.
func (m *Mark) Checkpoint(ctx context.Context) (Checkpoint, error) {
	m.lane.pr.hurry.Add(1)
	defer m.lane.pr.hurry.Add(-1)
	m.lane.each((*partition).nudge)
	select {
	case <-m.done:
	case <-ctx.Done():
		return Checkpoint{}, fmt.Errorf("producer: checkpoint: %w", ctx.Err())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return Checkpoint{}, fmt.Errorf("producer: checkpoint: %w", m.err)
	}
	slices.SortFunc(m.parts, func(a, b PartitionCheckpoint) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return Checkpoint{
		ClusterID: m.lane.pr.clusterID.Load(), ProducerID: m.id.producerID, Epoch: m.id.epoch,
		Taken: m.taken, Verified: m.lane.verifiedSince(), Topics: slices.Clone(m.topics), Partitions: slices.Clone(m.parts),
	}, nil
}

// placeMark seals the open batch, so that the mark does not lie inside one, and
// waits for what was accepted so far.
func (p *partition) placeMark(m *Mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.mu.Lock()
	m.left++
	m.mu.Unlock()
	if p.open != nil {
		p.seal()
	}
	p.marks = append(p.marks, pendingMark{m, p.accepted})
	p.passMarks()
}

// passMarks tells the marks that the partition has reached. What is not written
// ends them all.
func (p *partition) passMarks() {
	for len(p.marks) > 0 && p.marks[0].at <= p.settled {
		m := p.marks[0].m
		p.marks = p.marks[1:]
		if p.gap != nil {
			m.fail(p.gap)
		} else {
			m.add(p.checkpoint(m))
		}
		m.reached()
	}
}

func (p *partition) checkpoint(m *Mark) PartitionCheckpoint {
	at := p.own.Position()
	pc := PartitionCheckpoint{
		Topic: p.topic.name, TopicID: p.topic.knownID(), Partition: p.index,
		Epoch: at.Epoch, Next: at.Next, Offset: at.Offset,
		Verified: p.own.Memory.VerifiedAt(p.topic.lane.sharing(), m.taken),
	}
	if !p.own.Begun() {
		pc.Epoch = m.id.epoch
	}
	if end := p.own.Memory.End(); end > pc.Offset+1 {
		pc.LogEnd = end
	}
	return pc
}

// advance notes a batch with its outcome.
func (p *partition) advance(b *batch, gap error, offset int64) {
	n := uint64(b.Records())
	p.settled += n
	if gap != nil {
		if p.gap == nil && p.shared {
			p.gap = gap
			p.topic.lane.broke(gap)
		}
		return
	}
	p.own.Written(&b.History, b.epoch, b.base, int32(n), offset)
}

func (m *Mark) add(pc PartitionCheckpoint) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parts = append(m.parts, pc)
}

func (m *Mark) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = err
	}
}

func (m *Mark) reached() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left--; m.left == 0 {
		close(m.done)
	}
}
