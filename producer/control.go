package producer

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	stdatomic "sync/atomic"
	"time"

	"github.com/sluice-kafka/sluice/internal/cluster"
	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/atomic"
)

// control is the loop that knows the cluster: metadata, leaders, producer IDs.
// It has a connection of its own, so that it never waits behind records.
type control struct {
	pr      *Producer
	ctx     context.Context // of the broker loops it starts
	woken   chan struct{}
	err     atomic.Error    // of the latest round
	done    stdatomic.Int64 // rounds that succeeded and asked about all topics
	rounds  stdatomic.Int64 // rounds that ended
	refused denials         // by all who could be asked

	mu     sync.Mutex
	wanted wanted
	hints  map[cluster.TopicPartition]cluster.LeaderHint

	// Of the loop alone:
	snap    *cluster.Snapshot
	led     map[*cluster.Topic][]leader // in ledIn
	ledIn   *cluster.Snapshot
	brokers map[route]*broker
	shares  map[int32]*share
	conn    *conn.Conn
	connID  int32  // of the broker at the other end, -1 if not known
	last    string // address of the latest connection, or of who refused the login
	first   int    // broker to be tried first, at random: producers spread over them
	turn    int    // rounds in which somebody was to be reached
	backoff retry.Backoff
	said    said
}

func newControl(pr *Producer, ctx context.Context) control {
	return control{
		pr: pr, ctx: ctx, woken: make(chan struct{}, 1), wanted: newWanted(pr.main),
		snap: new(cluster.Snapshot), brokers: map[route]*broker{}, shares: map[int32]*share{}, connID: -1,
		first: rand.IntN(1 << 16), backoff: retry.NewBackoff(pr.cfg.RetryBackoff, pr.cfg.RetryBackoffMax),
	}
}

// refresh asks for new metadata of all topics soon.
func (c *control) refresh() {
	c.want(func(w *wanted) { w.all = true })
}

// learn asks for a topic that records wait for.
func (c *control) learn(name string) {
	c.want(func(w *wanted) { w.learn(name) })
}

// renew asks for a new producer ID.
func (c *control) renew(l *Lane) {
	c.want(func(w *wanted) { w.renew(l) })
}

func (c *control) want(note func(*wanted)) {
	c.mu.Lock()
	note(&c.wanted)
	c.mu.Unlock()
	c.wake()
}

// hint passes on what a broker said about a leader (KIP-951).
func (c *control) hint(h cluster.LeaderHint) {
	c.mu.Lock()
	if c.hints == nil {
		c.hints = map[cluster.TopicPartition]cluster.LeaderHint{}
	}
	at := cluster.TopicPartition{Topic: h.Topic, Partition: h.Partition}
	if known, ok := c.hints[at]; !ok || known.LeaderEpoch < h.LeaderEpoch {
		c.hints[at] = h
	}
	c.mu.Unlock()
	c.wake()
}

func (c *control) takeHints() map[cluster.TopicPartition]cluster.LeaderHint {
	c.mu.Lock()
	defer c.mu.Unlock()
	hints := c.hints
	c.hints = nil
	return hints
}

func (c *control) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// errNoAnswer is why a producer that began a moment ago has got nowhere.
var errNoAnswer = errors.New("no broker has answered yet")

// lastError is why the latest round failed, nil if it did not.
func (c *control) lastError() error {
	if c.rounds.Load() == 0 {
		return errNoAnswer
	}
	return c.err.Load()
}

// run looks after the cluster until ctx ends. Between two rounds lies at least
// the retry backoff, which grows while rounds fail or metadata has gaps; only what
// is asked for the first time does not wait for it.
func (c *control) run(ctx context.Context) {
	defer c.hangUp()
	age := time.NewTimer(c.pr.cfg.MetadataMaxAge)
	defer age.Stop()
	sweep := time.NewTicker(c.pr.cfg.MetadataMaxIdle / idleLooks)
	defer sweep.Stop()
	var pace pace
	for ctx.Err() == nil {
		for _, h := range c.takeHints() {
			c.follow(h)
		}
		w, wait := c.take(&pace, time.Now())
		if w.none() {
			c.sleep(ctx, wait, age.C, sweep.C)
			continue
		}
		again, failed := c.round(ctx, w)
		c.paced(&pace, &w, again, failed)
		if w.all {
			age.Reset(c.pr.cfg.MetadataMaxAge)
		}
	}
}

// paced sets when the next round may be.
func (c *control) paced(p *pace, w *work, again, failed bool) {
	now := time.Now()
	p.failed = failed
	p.fresh = now.Add(gather)
	switch {
	case again:
		p.next = now.Add(c.backoff.Next(rand.Float64()))
	case w.due:
		c.backoff.Reset()
		p.next = now.Add(c.pr.cfg.RetryBackoff)
	}
}

func (c *control) take(p *pace, now time.Time) (work, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wanted.take(p, now)
}

// sleep waits for work, or until what has to wait may be done (0: there is
// nothing), or until metadata is too old, or topics may be idle.
func (c *control) sleep(ctx context.Context, wait time.Duration, tooOld, sweep <-chan time.Time) {
	var timer <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-c.woken:
	case <-timer:
	case <-tooOld:
		c.refresh()
	case now := <-sweep:
		c.forgetIdle(now)
	case <-ctx.Done():
	}
}

// round does what is to be done, and reports whether some of it has to be done
// again, and whether it failed.
func (c *control) round(ctx context.Context, w work) (again, failed bool) {
	err := c.connect(ctx)
	w.all = w.all || c.done.Load() == 0 // producer IDs come after the first metadata
	var gaps []string
	if err == nil && (w.all || len(w.topics) > 0) {
		gaps, err = c.metadata(ctx, &w)
	}
	for some := range slices.Chunk(w.lanes, mostIDs) {
		if err == nil {
			err = c.initProducerIDs(ctx, some)
		}
	}
	if ctx.Err() != nil {
		return false, false
	}
	c.err.Store(err)
	c.refused.note(err, time.Now())
	c.rounds.Add(1)
	defer c.pr.delivery.signal()
	if err != nil {
		if c.said.anew(err, time.Now()) {
			c.pr.log.Warn("cannot learn about the cluster", "err", err)
		}
		if !isRefusedID(err) {
			c.hangUp()
		}
		c.want(func(wd *wanted) { wd.again(w.all, w.topics) })
		return true, true
	}
	if w.all {
		c.done.Add(1)
	}
	c.want(func(wd *wanted) { wd.again(false, gaps) })
	return len(gaps) > 0, false
}

func (c *control) hangUp() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// do asks the broker of the control connection.
func (c *control) do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.pr.cfg.RequestTimeout)
	defer cancel()
	return c.conn.Do(ctx, req)
}
