package producer

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	pr     *Producer
	ctx    context.Context // of the broker loops it starts
	woken  chan struct{}
	err    atomic.Error    // of the latest round
	done   stdatomic.Int64 // rounds that succeeded
	rounds stdatomic.Int64 // rounds that ended

	mu     sync.Mutex
	stale  bool // metadata was asked for
	urgent bool // without a pause: there is a topic that was never asked for
	needID map[*Lane]struct{}
	hints  []cluster.LeaderHint

	// Of the loop alone:
	snap    *cluster.Snapshot
	led     map[*cluster.Topic][]leader // in ledIn
	ledIn   *cluster.Snapshot
	brokers map[route]*broker
	shares  map[int32]*share
	conn    *conn.Conn
	connID  int32  // of the broker at the other end, -1 if not known
	last    string // address of the latest connection
	next    int    // bootstrap server to try
	backoff retry.Backoff
}

func newControl(pr *Producer, ctx context.Context) control {
	return control{
		pr: pr, ctx: ctx, woken: make(chan struct{}, 1), stale: true, needID: map[*Lane]struct{}{pr.main: {}},
		snap: new(cluster.Snapshot), brokers: map[route]*broker{}, shares: map[int32]*share{}, connID: -1,
		backoff: retry.NewBackoff(pr.cfg.RetryBackoff, pr.cfg.RetryBackoffMax),
	}
}

// refresh asks for new metadata soon.
func (c *control) refresh() {
	c.mu.Lock()
	c.stale = true
	c.mu.Unlock()
	c.wake()
}

// learn asks for a topic that is new.
func (c *control) learn() {
	c.mu.Lock()
	c.stale, c.urgent = true, true
	c.mu.Unlock()
	c.wake()
}

// renew asks for a new producer ID.
func (c *control) renew(l *Lane) {
	c.mu.Lock()
	c.needID[l] = struct{}{}
	c.mu.Unlock()
	c.wake()
}

// hint passes on what a broker said about a leader (KIP-951).
func (c *control) hint(h cluster.LeaderHint) {
	c.mu.Lock()
	c.hints = append(c.hints, h)
	c.mu.Unlock()
	c.wake()
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

// work is what was asked for.
type work struct {
	stale  bool
	needID []*Lane
}

func (w *work) none() bool { return !w.stale && len(w.needID) == 0 }

// take takes over what was asked for, unless it has to wait until a time; what
// is urgent does not.
func (c *control) take(notBefore time.Time) (w work, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stale && len(c.needID) == 0 {
		return work{}, 0
	}
	if wait = time.Until(notBefore); wait > 0 && !c.urgent {
		return work{}, wait
	}
	w = work{c.stale, slices.Collect(maps.Keys(c.needID))}
	c.stale, c.urgent = false, false // lanes stay until they have an ID
	return w, 0
}

func (c *control) takeHints() []cluster.LeaderHint {
	c.mu.Lock()
	defer c.mu.Unlock()
	hints := c.hints
	c.hints = nil
	return hints
}

// run looks after the cluster until ctx ends. Between two rounds lies at least
// the retry backoff, which grows while rounds fail or metadata has gaps.
func (c *control) run(ctx context.Context) {
	defer c.hangUp()
	age := time.NewTimer(c.pr.cfg.MetadataMaxAge)
	defer age.Stop()
	var notBefore time.Time
	for ctx.Err() == nil {
		for _, h := range c.takeHints() {
			c.follow(h)
		}
		w, wait := c.take(notBefore)
		if w.none() {
			c.sleep(ctx, wait, age.C)
			continue
		}
		pause := c.pr.cfg.RetryBackoff
		if again := c.round(ctx, w); again {
			pause = c.backoff.Next(rand.Float64())
		} else {
			c.backoff.Reset()
		}
		notBefore = time.Now().Add(pause)
		age.Reset(c.pr.cfg.MetadataMaxAge)
	}
}

// sleep waits for work, or until what has to wait may be done (0: there is
// nothing), or until metadata is too old.
func (c *control) sleep(ctx context.Context, wait time.Duration, tooOld <-chan time.Time) {
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
	case <-ctx.Done():
	}
}

// round does what is to be done, and reports whether it has to be done again.
func (c *control) round(ctx context.Context, w work) (again bool) {
	err := c.connect(ctx)
	gaps := false
	if err == nil && (w.stale || c.done.Load() == 0) {
		gaps, err = c.metadata(ctx)
	}
	for some := range slices.Chunk(w.needID, mostIDs) {
		if err == nil {
			err = c.initProducerIDs(ctx, some)
		}
	}
	if ctx.Err() != nil {
		return false
	}
	c.err.Store(err)
	c.rounds.Add(1)
	if err != nil {
		c.pr.log.Warn("cannot learn about the cluster", "err", err)
		c.hangUp()
		c.again(w.stale)
		c.pr.delivery.signal()
		return true
	}
	c.done.Add(1)
	c.pr.delivery.signal()
	c.again(gaps)
	return gaps
}

// connect has a connection to some broker in the end: to one that metadata
// named, or else to the bootstrap servers in turn.
func (c *control) connect(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	type target struct {
		id   int32
		addr string
	}
	var targets []target
	known := c.snap.Brokers()
	first := rand.IntN(max(1, len(known)))
	for i := range known {
		b := known[(first+i)%len(known)]
		targets = append(targets, target{b.ID, b.Addr()})
	}
	servers := c.pr.cfg.BootstrapServers
	for i := range servers {
		targets = append(targets, target{-1, servers[(c.next+i)%len(servers)]})
	}
	c.next++
	// Whoever served last comes last: it may take everything and answer nothing
	// (K19).
	late := func(t target) int {
		if t.addr == c.last {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(targets, func(a, b target) int { return late(a) - late(b) })
	var errs []error
	for _, t := range targets {
		opened, err := c.pr.dial(ctx, t.addr)
		if err == nil {
			c.conn, c.connID, c.last = opened, t.id, t.addr
			return nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil || errors.Is(err, conn.ErrAuth) {
			break
		}
	}
	return several(errs...)
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

// metadata asks for the topics in use and acts on the answer. Gaps says that
// something is still missing: a topic, a leader.
func (c *control) metadata(ctx context.Context) (gaps bool, err error) {
	topics := c.topics()
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = c.pr.cfg.AllowAutoCreateTopics
	req.Topics = []kmsg.MetadataRequestTopic{}
	var asked []string
	for name := range topics {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, rt)
		asked = append(asked, name)
	}
	resp, err := c.do(ctx, req)
	if err != nil {
		return false, err
	}
	snap, changes := c.snap.Merge(resp.(*kmsg.MetadataResponse), asked)
	for _, problem := range changes.Problems {
		c.pr.log.Warn("metadata is odd", "problem", problem)
	}
	if changes.OtherCluster {
		return false, errors.New("producer: the broker belongs to another cluster")
	}
	c.snap = snap
	c.pr.clusterID.Store(snap.ClusterID)
	for _, name := range changes.Recreated {
		c.pr.log.Warn("a topic was recreated", "topic", name)
		for _, t := range topics[name] {
			t.each((*partition).recreated)
		}
	}
	for _, lanes := range topics {
		for _, t := range lanes {
			gaps = c.apply(t) || gaps
		}
	}
	return gaps, nil
}

// topics are those in use: by their name, for each lane that uses one.
func (c *control) topics() map[string][]*topic {
	topics := map[string][]*topic{}
	c.pr.eachLane(func(l *Lane) {
		for name, t := range *l.topics.Load() {
			topics[name] = append(topics[name], t)
		}
	})
	return topics
}

// again asks for metadata that did not come, or not completely.
func (c *control) again(stale bool) {
	c.mu.Lock()
	c.stale = c.stale || stale
	c.mu.Unlock()
}

// follow acts on a leader hint.
func (c *control) follow(h cluster.LeaderHint) {
	snap, better := c.snap.Hint(h)
	if !better {
		return
	}
	c.snap = snap
	c.pr.eachLane(func(l *Lane) {
		if t := (*l.topics.Load())[h.Topic]; t != nil {
			c.apply(t)
		}
	})
}

// apply tells a topic and its partitions what is known of them now. It reports
// whether something is missing.
func (c *control) apply(t *topic) (gaps bool) {
	known, ok := c.snap.Topic(t.name)
	if !ok || len(known.Partitions) == 0 {
		code := retry.UnknownTopicOrPartition
		if ok && known.Err != 0 {
			code = retry.Code(known.Err)
		}
		t.unknown(code, finalForTopic(code))
		return !t.idle() || t.declared.Load() && t.lane.awaiting.Load() > 0
	}
	if known.ID != ([16]byte{}) {
		id := known.ID
		t.id.Store(&id)
	}
	leaders := c.leaders(known)
	for i := range leaders {
		gaps = gaps || leaders[i].broker == nil
	}
	t.lead(leaders)
	t.grow(len(leaders))
	if !t.idle() {
		t.unknown(fmt.Errorf("%w: %q has %d partitions", ErrUnknownPartition, t.name, len(known.Partitions)), false)
	}
	return gaps || !t.idle()
}

// leaders are those of a topic. All lanes share the list.
func (c *control) leaders(t *cluster.Topic) []leader {
	if c.ledIn != c.snap {
		c.ledIn, c.led = c.snap, map[*cluster.Topic][]leader{}
	}
	list := c.led[t]
	if list == nil {
		list = make([]leader, len(t.Partitions))
		for i, p := range t.Partitions {
			list[i] = leader{c.broker(route{p.Leader, i % c.pr.cfg.ConnectionsPerBroker}), p.LeaderEpoch}
		}
		c.led[t] = list
	}
	return list
}

// finalForTopic says whether asking again cannot help soon.
func finalForTopic(code retry.Code) bool {
	return code == retry.InvalidTopic || code == retry.TopicAuthorizationFailed
}

// route is one of the connections to a broker.
type route struct {
	id int32
	nr int // below connections.per.broker
}

// broker returns the sender of the route, nil if metadata knows no such broker.
// The first time its loop is started.
func (c *control) broker(r route) *broker {
	known, ok := c.snap.Broker(r.id)
	if !ok {
		return nil
	}
	b := c.brokers[r]
	if b == nil {
		if c.shares[r.id] == nil {
			c.shares[r.id] = c.pr.budget.newShare()
		}
		b = newBroker(c.pr, r.id, c.shares[r.id])
		c.brokers[r] = b
		senders := append(slices.Clone(*c.pr.senders.Load()), b)
		c.pr.senders.Store(&senders)
		b.addr.Store(known.Addr())
		c.pr.loops.Go(func() { b.run(c.ctx) })
	}
	b.addr.Store(known.Addr())
	return b
}
