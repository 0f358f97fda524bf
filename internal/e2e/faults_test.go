package e2e

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/faultproxy"
)

// fault is something that happens to a load.
type fault struct {
	name string
	// strike makes it happen, waits until it has bitten and the load goes on,
	// and returns how often it bit, counted where it does.
	strike func(*load, *rand.Rand) int64
	// alone: the rest describes the whole run, so no other fault joins it.
	alone      bool
	partitions int32 // 0: three
	set        func(*config.Config)
	before     func(*stage) // comes before the topic exists
	honest     bool         // see run
}

var faults = []fault{
	{name: "cut", strike: cut},
	{name: "acks lost, then cut", strike: acksLost},
	{name: "stragglers, at once", strike: stragglersAtOnce},
	{name: "stragglers, after the retry", strike: stragglersAfterRetry},
	{name: "half-open, requests", strike: halfOpenRequests},
	{name: "half-open, responses", strike: halfOpenResponses},
	{name: "leader killed", strike: leaderKilled},
	{name: "leader asleep, not noticed", strike: leaderNods},
	{name: "leader asleep, zombie", strike: leaderSleeps},
	{name: "elections", strike: elections},
	{name: "clean restarts in doubt", strike: restartsInDoubt},
	{name: "followers asleep", strike: followersAsleep, alone: true, partitions: 1,
		// The broker answers after two thirds of it, one request after the other.
		set: func(c *config.Config) { c.RequestTimeout = 12 * time.Second }},
	{name: "first batch refused", strike: firstRefused, alone: true, before: (*stage).refuseFirst},
	{name: "producer forgotten", strike: forgotten, alone: true, honest: true,
		before: func(s *stage) { s.expireProducers(expiration) },
		set:    func(c *config.Config) { c.ProducerIDExpiration = expiration }},
	{name: "all asleep past the deadline", strike: allAsleep, alone: true, honest: true, set: shortDeadline},
	{name: "stragglers past the deadline", strike: stragglersPastDeadline, alone: true, honest: true, set: shortDeadline},
}

// shortDeadline gives up soon.
func shortDeadline(c *config.Config) {
	c.RequestTimeout, c.DeliveryTimeout = 2*time.Second, 3*time.Second
}

// cut breaks connections that have something unanswered.
func cut(l *load, rng *rand.Rand) (n int64) {
	for range 3 {
		l.goesOn(rng.Int64N(500) + 1)
		l.until("something on the wire", func() bool { return l.unanswered() > 0 })
		n += int64(l.cutAll())
	}
	l.goesOn(100)
	return n
}

func acksLost(l *load, _ *rand.Rand) int64 {
	n := l.dropAcks(50)
	l.cutAll()
	l.dropResponses(false)
	l.goesOn(100)
	return n
}

// dropAcks has responses dropped from now on, and returns how many were when
// there are n, or when the producer has given up waiting for more.
func (l *load) dropAcks(n int64) int64 {
	l.t.Helper()
	before := l.dropped()
	l.dropResponses(true)
	l.until("responses dropped", func() bool {
		return l.dropped() >= before+n || l.unanswered() == 0
	})
	return l.dropped() - before
}

// stragglers are those of all proxies.
type stragglers []*faultproxy.Stragglers

// holdBack holds requests back on their way.
func (l *load) holdBack() (all stragglers) {
	l.t.Helper()
	for _, p := range l.proxies {
		all = append(all, p.Straggle())
	}
	l.until("requests held back", func() bool {
		n := 0
		for _, s := range all {
			n += s.Held()
		}
		return n >= 50
	})
	return all
}

// cut takes the connections from the clients.
func (all stragglers) cut() stragglers {
	for _, s := range all {
		s.Cut()
	}
	return all
}

// arrive lets them through, and returns how many the brokers have served.
func (all stragglers) arrive(l *load) int64 {
	l.t.Helper()
	orphans := func(st faultproxy.Stats) int64 { return st.Orphans }
	before := l.count(orphans)
	for _, s := range all {
		s.Release()
	}
	l.until("stragglers served", func() bool { return l.count(orphans) >= before+50 })
	l.goesOn(100)
	return l.count(orphans) - before
}

func stragglersAtOnce(l *load, _ *rand.Rand) int64 { return l.holdBack().cut().arrive(l) }

func stragglersAfterRetry(l *load, rng *rand.Rand) int64 {
	all := l.holdBack().cut()
	l.goesOn(rng.Int64N(1000) + 1)
	return all.arrive(l)
}

// stragglersPastDeadline lets nothing through until records are given up. Then
// the stragglers race with what follows.
func stragglersPastDeadline(l *load, _ *rand.Rand) int64 {
	all := l.holdBack()
	for _, p := range l.proxies {
		p.Pause()
	}
	all.cut()
	l.until("records given up", func() bool { return l.p.Stats().Unknown > 0 })
	for _, p := range l.proxies {
		p.Resume()
	}
	return all.arrive(l)
}

func halfOpenRequests(l *load, _ *rand.Rand) int64 {
	return halfOpen(l, (*faultproxy.Proxy).HalfOpenRequests)
}

func halfOpenResponses(l *load, _ *rand.Rand) int64 {
	return halfOpen(l, (*faultproxy.Proxy).HalfOpenResponses)
}

// halfOpen waits until the producer has found out by itself.
func halfOpen(l *load, open func(*faultproxy.Proxy) int) (n int64) {
	swallowed := func(st faultproxy.Stats) int64 { return st.SwallowedBytes }
	before, connections := l.count(swallowed), l.p.Stats().Connections
	for _, p := range l.proxies {
		n += int64(open(p))
	}
	l.until("new connections", func() bool { return l.p.Stats().Connections > connections })
	l.goesOn(100)
	if l.count(swallowed) == before {
		return 0
	}
	return n
}

// The session of a node with the controller is 3 s here.

func leaderKilled(l *load, rng *rand.Rand) int64 {
	partition := rng.Int32N(int32(len(l.p.Stats().Partitions)))
	leader := l.leader(partition)
	l.must(l.kafka.Kill(leader))
	l.ledByOther(partition, leader)
	l.goesOn(100)
	l.must(l.kafka.Restart(leader))
	return 1
}

func leaderNods(l *load, rng *rand.Rand) int64 {
	leader := l.leader(0)
	l.must(l.kafka.Pause(leader))
	time.Sleep(time.Duration(500+rng.IntN(1500)) * time.Millisecond) // the fault itself
	l.must(l.kafka.Resume(leader))
	l.goesOn(100)
	return 1
}

func leaderSleeps(l *load, rng *rand.Rand) int64 {
	leader := l.leader(0)
	l.must(l.kafka.Pause(leader))
	l.ledByOther(0, leader)
	time.Sleep(time.Duration(rng.IntN(4000)) * time.Millisecond) // asleep for longer still
	l.must(l.kafka.Resume(leader))
	l.goesOn(1000)
	return 1
}

func elections(l *load, rng *rand.Rand) (n int64) {
	for range 4 {
		partition := rng.Int32N(int32(len(l.p.Stats().Partitions)))
		to := (l.leader(partition) + 1 + rng.IntN(2)) % 3
		l.must(l.kafka.MoveLeader(l.topic, partition, to))
		l.goesOn(100)
		n++
	}
	return n
}

// restartsInDoubt leaves all nodes with a memory of one batch for each producer:
// nothing can be appended while they are restarted in turn, since no connection
// comes about without responses.
func restartsInDoubt(l *load, _ *rand.Rand) int64 {
	n := l.dropAcks(wantedDepth)
	l.cutAll()
	for node := range l.proxies {
		l.must(l.kafka.Stop(node))
		l.must(l.kafka.Restart(node))
	}
	l.cutAll()
	l.dropResponses(false)
	l.goesOn(1000)
	return n
}

// followersAsleep has a leader answer hundreds of requests one after the other,
// each after its own timeout only. That is not a dead broker.
func followersAsleep(l *load, _ *rand.Rand) int64 {
	leader := l.leader(0)
	connections := l.p.Stats().Connections
	for node := range l.proxies {
		if node != leader {
			l.must(l.kafka.Pause(node))
		}
	}
	// Nothing new is written once the first answer is a timeout.
	var most int32
	unanswered := func() int32 {
		n := l.p.Stats().Partitions[0].Batches
		most = max(most, n)
		return n
	}
	l.until("two answers that took their time", func() bool { return unanswered() <= most-2 })
	for node := range l.proxies {
		l.must(l.kafka.Resume(node))
	}
	l.goesOn(100)
	if now := l.p.Stats().Connections; now != connections {
		l.t.Errorf("%d connections given up while followers slept", now-connections)
	}
	return int64(most)
}

// refuseFirst damages the first batch of a producer on each node: a broker that
// does not know the producer would take the next one for the first.
func (s *stage) refuseFirst() {
	for _, p := range s.proxies {
		p.CorruptProduce(1)
	}
}

func firstRefused(l *load, _ *rand.Rand) int64 {
	l.goesOn(1000)
	n := l.count(func(st faultproxy.Stats) int64 { return st.Corrupted })
	for _, p := range l.proxies {
		p.CorruptProduce(0)
	}
	return n
}

// expiration of producers, where brokers forget them soon.
const expiration = 8 * time.Second

func (s *stage) expireProducers(after time.Duration) {
	s.t.Helper()
	s.must(s.kafka.SetProperty("producer.id.expiration.ms", strconv.FormatInt(after.Milliseconds(), 10)))
}

// forgotten lets the producer rest until no broker knows it, and cuts its
// connections when it has just gone on.
func forgotten(l *load, _ *rand.Rand) (n int64) {
	l.rest()
	l.until("producer forgotten", func() bool {
		known, err := l.kafka.Producers(l.topic, 0)
		return err == nil && known == 0
	})
	l.wake()
	for range 3 {
		l.goesOn(100)
		l.cutAll()
	}
	l.goesOn(1000)
	l.expireProducers(24 * time.Hour)
	return 1
}

func allAsleep(l *load, _ *rand.Rand) int64 {
	for node := range l.proxies {
		l.must(l.kafka.Pause(node))
	}
	l.until("records given up", func() bool { return l.p.Stats().Unknown >= 100 })
	for node := range l.proxies {
		l.must(l.kafka.Resume(node))
	}
	l.goesOn(1000)
	s := l.p.Stats()
	return s.Unknown + s.NotWritten
}
