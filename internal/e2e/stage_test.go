package e2e

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/faultproxy"
	"github.com/sluice-kafka/sluice/internal/realkafka"
	"github.com/sluice-kafka/sluice/internal/verify"
	"github.com/sluice-kafka/sluice/producer"
)

// stage is a real cluster with a proxy in front of each node.
type stage struct {
	t       *testing.T
	kafka   *realkafka.Cluster
	proxies []*faultproxy.Proxy
	blind   bool // producers cannot ask a broker what it knows of them
}

// deadline ends a test that would hang.
const deadline = 5 * time.Minute

// open starts one node for the test.
func open(t *testing.T, window int32) *stage {
	t.Helper()
	s := &stage{t: t}
	s.kafka = realkafka.Start(t, realkafka.Config{SequenceWindow: window, Advertise: s.proxy})
	return s
}

// on is the same stage, for a subtest.
func (s *stage) on(t *testing.T) *stage {
	return &stage{t: t, kafka: s.kafka, proxies: s.proxies}
}

func (s *stage) proxy(_ int, addr string) string {
	p, err := faultproxy.Listen(addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.Close() })
	s.proxies = append(s.proxies, p)
	return p.Addr()
}

func (s *stage) cutAll() (n int) {
	for _, p := range s.proxies {
		n += p.CutAll()
	}
	return n
}

func (s *stage) dropResponses(drop bool) {
	for _, p := range s.proxies {
		p.DropResponses(drop)
	}
}

// cutEvery cuts all connections at intervals until the function it returns is
// called, which returns how many were cut.
func (s *stage) cutEvery(d time.Duration) (stop func() int) {
	end, cuts := make(chan struct{}), make(chan int)
	go func() {
		tick := time.NewTicker(d)
		defer tick.Stop()
		n := 0
		for {
			select {
			case <-tick.C:
				n += s.cutAll()
			case <-end:
				cuts <- n
				return
			}
		}
	}()
	return func() int { close(end); return <-cuts }
}

// dropped is the number of responses swallowed so far.
func (s *stage) dropped() int64 {
	return s.count(func(st faultproxy.Stats) int64 { return st.Dropped })
}

// count sums up what the proxies have counted.
func (s *stage) count(what func(faultproxy.Stats) int64) (n int64) {
	for _, p := range s.proxies {
		n += what(p.Stats())
	}
	return n
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// until waits for something that a real cluster does in its own time.
func (s *stage) until(what string, done func() bool) {
	s.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	end := time.After(deadline)
	for !done() {
		select {
		case <-tick.C:
		case <-end:
			s.t.Fatalf("it never came to this: %s", what)
		}
	}
}

// run is one producer writing to one topic.
type run struct {
	*stage
	topic  string
	p      *producer.Producer
	log    *verify.Log
	rng    *rand.Rand
	shared bool // another producer writes to the topic: an offset may stay unknown
	honest bool // the fault outlasts deadlines: records need not be written, but outcomes must be true
}

// produceTo makes a topic and a producer for it.
func (s *stage) produceTo(topic string, partitions int32, replication int16, set func(*config.Config)) *run {
	s.t.Helper()
	s.must(s.kafka.CreateTopic(topic, partitions, replication, nil))
	return s.alsoTo(topic, 0, set)
}

// alsoTo makes one more producer for a topic. Each has another number.
func (s *stage) alsoTo(topic string, number uint32, set func(*config.Config)) *run {
	s.t.Helper()
	cfg := config.Default()
	cfg.BootstrapServers = s.kafka.Addrs()
	cfg.ClientID = s.t.Name()[:min(100, len(s.t.Name()))]
	if s.blind {
		cfg.Dialer = faultproxy.DialBlind
	}
	if set != nil {
		set(&cfg)
	}
	p, err := producer.New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(p.Abort)
	return &run{stage: s, topic: topic, p: p, log: verify.New(topic, number), rng: rand.New(rand.NewPCG(1, 2))}
}

var outcomes = map[producer.Outcome]verify.Outcome{
	producer.Written: verify.Written, producer.NotWritten: verify.NotWritten, producer.Unknown: verify.Unknown,
}

// produce hands over n records with values of size to most bytes; between is
// called before each with its number.
func (r *run) produce(n, size, most int, between func(i int)) {
	done := func(res producer.Result) { r.log.Note(res.Tag.(int), outcomes[res.Outcome], res.Partition, res.Offset) }
	var value []byte
	for i := range n {
		if between != nil {
			between(i)
		}
		var number int
		value, number = r.log.Value(value[:0], size+r.rng.IntN(most-size+1))
		r.p.Produce(r.t.Context(), producer.Record{Topic: r.topic, Value: value, Tag: number}, done)
	}
}

// written waits until so many records are written, so that a fault meets a
// producer in full flight.
func (r *run) written(n int64) {
	r.until("records written", func() bool { return r.p.Stats().Written >= n })
}

// finish closes the producer, reads the log back, and wants every record
// written, once, in order, at the offset that was reported.
func (r *run) finish() producer.Stats {
	r.t.Helper()
	stats, _ := r.judge()
	return stats
}

func (r *run) judge() (producer.Stats, verify.Verdict) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), deadline)
	defer cancel()
	if err := r.p.Close(ctx); err != nil {
		r.t.Errorf("close: %v", err)
	}
	stats := r.p.Stats()
	verdict, err := r.log.Read(ctx, r.kafka.Addrs())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Logf("%s: %s", r.topic, verdict.String())
	r.t.Logf("%s: resends %d, duplicates dropped %d, out of order %d, connections %d, throttled %v, most in flight %d of %d sequences",
		r.topic, stats.Resends, stats.Duplicates, stats.OutOfOrder, stats.Connections, stats.ThrottledTime, deepest(stats), window(stats))
	missing := verdict.Unknown > 0 || verdict.NotWritten > 0
	if verdict.Faults() > 0 || missing && !r.honest || verdict.NoOffset > 0 && !r.shared {
		r.t.Errorf("%s: not every record was written once, in order, and with its offset", r.topic)
	}
	if stats.Alarms > 0 {
		r.t.Errorf("%s: %d alarms", r.topic, stats.Alarms)
	}
	return stats, verdict
}

func deepest(s producer.Stats) (n int32) {
	for _, p := range s.Partitions {
		n = max(n, p.Deepest)
	}
	return n
}

func window(s producer.Stats) (n int32) {
	for _, p := range s.Partitions {
		n = max(n, p.Window)
	}
	return n
}
