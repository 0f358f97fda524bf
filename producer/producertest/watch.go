package producertest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// watch judges what clients send by the rules that keep a log complete and in
// order, whatever connections break. It knows only what a broker can know: what
// was received, before which answers, and how connections ended. What it cannot
// decide it lets pass, so that a client that keeps the rules is never blamed. A
// batch of which no byte was written counts as never sent.
//
// The rules are these; the numbers are those of docs/invariants.md.
//
//   - I10: producer ID, epoch, partition and base sequence stand for one batch
//     for ever.
//   - I12, gate: on a connection, in a leader epoch and a producer epoch, there
//     is one batch in flight until the first success, and again after every
//     resending. In such a replay, once the broker has refused a batch in a way
//     that says nothing (45, 46, or for good), the batches that were sent before
//     may follow; new ones may not.
//   - I12, window: a batch is sent for the first time only while its last
//     sequence is less than W beyond the first sequence not yet confirmed, W as
//     the broker of that connection named it. A batch with nothing unconfirmed
//     before it may always go.
//   - I14: nothing is sent on one connection while another, that is still open,
//     has an unanswered batch of the same producer ID and partition; and nothing
//     is sent again before everything on the connection is answered.
type watch struct {
	mu         sync.Mutex
	tracks     map[trackKey]*track
	suspicions []*suspicion
	settled    chan struct{} // closed, and made anew, when no suspicion is left
	violations []string
}

// maxViolations bounds what is kept of a client that breaks rules all the time.
const maxViolations = 1000

type trackKey struct {
	id        topicID
	partition int32
	producer  int64
}

// peer is a connection as the watch sees it.
type peer struct {
	id     int64
	tap    *tap
	window int32 // that the client was told in ApiVersions; 0: none
	chains map[*chain]struct{}
	ended  bool
}

func newWatch() *watch {
	return &watch{tracks: make(map[trackKey]*track), settled: make(chan struct{})}
}

func (w *watch) connected(id int64, t *tap) *peer {
	p := &peer{id: id, tap: t, chains: make(map[*chain]struct{})}
	t.quiet = func(look uint64, partial bool) { w.quiet(p, look, partial) }
	return p
}

// Violations lists how clients broke the rules that keep a log complete and in
// order while connections break: batches that changed between two attempts,
// more than one in flight before the first success, sequences beyond the
// window, and partitions on two connections at once. Each names the rule, topic,
// partition and sequence. There are none for a client that keeps the rules, as
// long as a producer ID has one owner that did not restart.
func (c *Cluster) Violations() []string {
	c.watch.settle()
	c.watch.mu.Lock()
	defer c.watch.mu.Unlock()
	return slices.Clone(c.watch.violations)
}

// settle waits until everything is decided that is decided soon.
func (w *watch) settle() {
	const patience = 5 * time.Second // some connection is not read: its requests wait
	w.mu.Lock()
	undecided, settled := len(w.suspicions) > 0, w.settled
	w.mu.Unlock()
	if !undecided {
		return
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-settled:
	case <-t.C:
	}
}

func (w *watch) violate(text string) {
	if len(w.violations) < maxViolations {
		w.violations = append(w.violations, text)
	}
}

// chain finds, or begins, the chain of a batch.
func (w *watch) chain(a *attempt) *chain {
	h := &a.batch.head
	key := trackKey{a.id, a.partition, h.ProducerID}
	t := w.tracks[key]
	if t == nil {
		t = &track{
			topic: a.topic, partition: a.partition, producer: h.ProducerID,
			chains: make(map[int16]*chain), open: make(map[*peer]int),
		}
		w.tracks[key] = t
	}
	c := t.chains[h.ProducerEpoch]
	if c == nil {
		c = newChain(t, a)
		t.chains[h.ProducerEpoch] = c
	}
	return c
}

// received judges a batch that was read from a connection, before it is served,
// and returns how often it was received by now. The leader epoch is that of the
// partition.
func (w *watch) received(from *peer, a *attempt, leaderEpoch int32) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.chain(a)
	n := w.checkFrozen(c, from, a.batch)
	k := c.pin(from)
	if k.open && c.last != from && k.leaderEpoch != leaderEpoch {
		k.open, k.returned = false, c.last
	}
	base, end := c.span(a.batch)
	w.reappeared(c, base, from)
	w.checkOneConnection(c, from, a.batch)
	if w.checkReplay(c, k, from, a.batch) {
		w.checkGate(c, k, from, a.batch, n == 1)
	}
	if n == 1 {
		w.checkWindow(c, k, from, a.batch)
	}
	c.max, c.last = max(c.max, end), from
	k.last, k.leaderEpoch = base, leaderEpoch
	k.out++
	c.track.open[from]++
	return n
}

// name begins the text of a violation.
func name(rule string, c *chain, from *peer, b *batch) string {
	return fmt.Sprintf("%s: topic %s partition %d producer %d epoch %d sequence %d (%d records) on connection %d",
		rule, c.track.topic, c.track.partition, c.track.producer, c.epoch,
		b.head.FirstSequence, b.head.NumRecords, from.id)
}

// checkFrozen is I10. It returns how often the batch was received by now.
func (w *watch) checkFrozen(c *chain, from *peer, b *batch) int {
	f := frozen{records: b.head.NumRecords, bytes: int32(len(b.bytes)), crc: uint32(b.head.CRC)}
	was, known := c.seen[b.head.FirstSequence]
	f.times = was.times + 1
	if known && (was.records != f.records || was.bytes != f.bytes || was.crc != f.crc) {
		w.violate(fmt.Sprintf("%s: was another batch before, of %d records", name("I10", c, from, b), was.records))
	}
	c.seen[b.head.FirstSequence] = f
	return int(f.times)
}

// checkOneConnection is I14 between connections. Both must prove to be open: the
// end of one that was abandoned may not have been read yet.
func (w *watch) checkOneConnection(c *chain, from *peer, b *batch) {
	for other, out := range c.track.open {
		if other == from || out == 0 {
			continue
		}
		w.suspect(&suspicion{
			text: fmt.Sprintf("%s: connection %d is open and has %d unanswered", name("I14", c, from, b), other.id, out),
			open: []*peer{other, from},
		})
	}
}

// checkReplay notices that a batch was sent again on the same connection. That
// closes the gate, and nothing may be unanswered then. It reports whether all is
// well.
func (w *watch) checkReplay(c *chain, k *pin, from *peer, b *batch) bool {
	if base := c.at(b.head.FirstSequence); base > k.last {
		return true
	}
	k.open, k.returned, k.refused, k.beyond = false, nil, false, false
	if k.out > 0 {
		w.violate(fmt.Sprintf("%s: sent again while %d are unanswered", name("I14", c, from, b), k.out))
	}
	return k.out == 0
}

// checkGate is the first half of I12.
func (w *watch) checkGate(c *chain, k *pin, from *peer, b *batch, first bool) {
	if k.open {
		return
	}
	base, end := c.span(b)
	maybeNew := first && end > c.horizon
	s := &suspicion{}
	if k.returned != nil {
		s.open = []*peer{from, k.returned}
	}
	switch doubt := c.confirmed(); {
	case k.out > 0 && !k.refused:
		s.text = fmt.Sprintf("%d in flight before the first success", k.out+1)
	case k.out > 0 && maybeNew:
		s.text = "a new batch among those of a replay"
		s.silent, s.chain, s.base, s.end = c.others(from), c, base, end
	case k.out == 0 && maybeNew && doubt < c.max && !(k.beyond && c.success):
		s.text = fmt.Sprintf("a new batch while sequence %d is in doubt", c.sequence(doubt))
		s.silent, s.chain, s.base, s.end = c.others(from), c, base, end
	default:
		return
	}
	s.text = name("I12", c, from, b) + ": " + s.text
	w.suspect(s)
}

// checkWindow is the second half of I12, for a batch received the first time.
func (w *watch) checkWindow(c *chain, k *pin, from *peer, b *batch) {
	base, end := c.span(b)
	una := c.confirmed()
	if k.window == 0 || base <= una || end-una <= int64(k.window) || end <= c.reach {
		return
	}
	w.suspect(&suspicion{
		text: fmt.Sprintf("%s: ends %d beyond sequence %d, which is unconfirmed, and the window is %d",
			name("I12", c, from, b), end-1-una, c.sequence(una), k.window),
		silent: c.others(from), chain: c, base: base, end: end, window: true,
	})
}

// sequence is the sequence at a position.
func (c *chain) sequence(position int64) int32 { return int32(position & (1<<31 - 1)) }

// told notes what DescribeProducers says: a process that resumes the work of
// another goes on from there.
func (w *watch) told(id topicID, partition int32, producers []kmsg.DescribeProducersResponseTopicPartitionActiveProducer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range producers {
		t := w.tracks[trackKey{id, partition, p.ProducerID}]
		if t == nil || p.LastSequence < 0 {
			continue
		}
		if c := t.chains[int16(p.ProducerEpoch)]; c != nil {
			c.told = max(c.told, c.at(p.LastSequence)+1)
		}
	}
}
