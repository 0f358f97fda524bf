package producer_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	wakeupTime = flag.Duration("wakeups.for", time.Minute, "virtual time of each seed of TestNobodySleeps")
	wakeupSeed = flag.Uint64("wakeups.seed", 0, "the first seed of TestNobodySleeps")
)

// Nobody sleeps: whatever became of leaders, connections, questions and proofs, once
// the faults end everything is written soon, without a new record that could wake
// anyone. The faults are those that leave stale entries in the queues a partition can
// stand in (docs/wakeups.md): leaders move while brokers are dialled, connections
// break, DescribeProducers is answered late or never, high watermarks stand still,
// lanes are resumed.
func TestNobodySleeps(t *testing.T) {
	const seeds = 4
	for seed := *wakeupSeed; seed < *wakeupSeed+seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newSleepless(t, seed).run() })
		})
	}
}

// sleepless is the world of one seed. Partition 0 is the producer's own: brokers
// say now and then that they have forgotten it there, so that the log is read.
type sleepless struct {
	t     *testing.T
	rng   *rand.Rand
	c     *producertest.Cluster
	p     *producer.Producer
	parts int32
	storm atomic.Bool
	lags  atomic.Int32 // high watermarks of the partitions below do not move

	mu      sync.Mutex
	conns   []net.Conn
	own     int          // records of the producer itself
	unknown int          // of these
	asked   atomic.Int64 // records, of lanes too
	told    atomic.Int64 // of these
	lanes   []*sleeplessLane
}

// sleeplessLane is a pipeline. Its record i has the same place in each life.
type sleeplessLane struct {
	id, next, saved int
	most            int // that any life came to
	lane            *producer.Lane
	cp              producer.Checkpoint
}

const sleeplessBrokers = 3

func newSleepless(t *testing.T, seed uint64) *sleepless {
	s := &sleepless{t: t, rng: rand.New(&lockedSource{src: rand.NewPCG(seed, 5)}), parts: 7}
	cc := topics(s.parts)
	cc.Brokers, cc.SequenceWindow = sleeplessBrokers, []int32{0, 0, 100}[s.rng.IntN(3)]
	s.c = newCluster(t, cc)
	s.p = newProducer(t, s.c, func(cfg *config.Config) {
		cfg.RequestTimeout, cfg.DialTimeout, cfg.DeliveryTimeout = 3*time.Second, 2*time.Second, time.Minute
		cfg.MetadataMaxAge = time.Duration(1+s.rng.IntN(10)) * time.Second
		cfg.Linger = time.Duration(s.rng.IntN(2)*5) * time.Millisecond
		cfg.ConnectionsPerBroker, cfg.BatchBytes = 1+s.rng.IntN(2), 300
		cfg.Dialer = s.dial
	})
	if s.rng.IntN(2) == 0 {
		producer.SetCompressor(s.p, stormCodec{s.rng})
	}
	s.c.OnProduce(s.batch)
	s.c.OnResponse(s.answer)
	for i := range 3 {
		l := &sleeplessLane{id: i, lane: s.p.Lane()}
		s.store(l)
		s.lanes = append(s.lanes, l)
	}
	return s
}

// chance is true so many times of a hundred, during the storm.
func (s *sleepless) chance(percent int) bool { return s.storm.Load() && s.rng.IntN(100) < percent }

// pause is mostly short.
func (s *sleepless) pause(mean time.Duration) {
	time.Sleep(time.Duration(s.rng.ExpFloat64() * float64(mean)))
}

func (s *sleepless) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	switch {
	case s.chance(10):
		return nil, errors.New("no route")
	case s.chance(50):
		select {
		case <-time.After(time.Duration(s.rng.IntN(3000)) * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	conn, err := s.c.Dial(ctx, network, addr)
	if err == nil {
		s.mu.Lock()
		s.conns = append(s.conns, conn)
		s.mu.Unlock()
	}
	return conn, err
}

func (s *sleepless) batch(a producertest.ProduceAttempt) producertest.Fault {
	switch {
	case s.chance(3):
		return producertest.Drop()
	case s.chance(3):
		return producertest.Refuse(6)
	case s.chance(1):
		s.c.MoveLeader("t", a.Partition, s.rng.Int32N(sleeplessBrokers))
		return producertest.Drop()
	}
	return producertest.Fault{}
}

func (s *sleepless) answer(r *producertest.Response) {
	late, never := 0, 0 // in per cent
	switch m := r.Message.(type) {
	case *kmsg.DescribeProducersResponse:
		late, never = 40, 10
		for i := range m.Topics[0].Partitions {
			if q := &m.Topics[0].Partitions[i]; q.Partition == 0 && s.chance(20) {
				q.ActiveProducers = nil
			}
		}
	case *kmsg.OffsetForLeaderEpochResponse, *kmsg.FetchResponse:
		late, never = 20, 5
	case *kmsg.InitProducerIDResponse, *kmsg.MetadataResponse:
		late = 10
	case *kmsg.ListOffsetsResponse:
		if q := &m.Topics[0].Partitions[0]; s.storm.Load() && q.Partition < s.lags.Load() {
			q.Offset = 0
		}
	}
	if s.chance(late) {
		r.Delay = time.Duration(s.rng.IntN(1500)) * time.Millisecond
	}
	r.Withhold = s.chance(never)
}

// run goes from storm to calm, again and again.
func (s *sleepless) run() {
	for until := time.Now().Add(*wakeupTime); time.Now().Before(until) && !s.t.Failed(); {
		s.lags.Store(s.rng.Int32N(s.parts + 1))
		s.storm.Store(true)
		var all sync.WaitGroup
		over := time.Now().Add(time.Duration(1+s.rng.IntN(8)) * time.Second)
		all.Go(func() { s.shake(over) })
		all.Go(func() { s.produceOwn(over) })
		for _, l := range s.lanes {
			all.Go(func() { s.live(l, over) })
		}
		time.Sleep(time.Until(over))
		s.storm.Store(false)
		all.Wait()
		s.calm()
	}
	s.judge()
}

// shake moves leaders and breaks connections.
func (s *sleepless) shake(over time.Time) {
	for time.Now().Before(over) {
		s.pause(200 * time.Millisecond)
		switch s.rng.IntN(6) {
		case 0:
			s.c.CutConnections(s.rng.Int32N(sleeplessBrokers))
		case 1:
			s.mu.Lock()
			if n := len(s.conns); n > 0 {
				s.conns[max(0, n-1-s.rng.IntN(6))].Close()
			}
			s.mu.Unlock()
		default:
			s.c.MoveLeader("t", s.rng.Int32N(s.parts), s.rng.Int32N(sleeplessBrokers))
		}
	}
}

func (s *sleepless) produceOwn(over time.Time) {
	for time.Now().Before(over) {
		s.pause(20 * time.Millisecond)
		rec := producer.Record{Topic: "t", Partition: producer.On(int32(s.own) % s.parts), Value: fmt.Appendf(nil, "own %d", s.own)}
		s.own++
		s.asked.Add(1)
		s.p.Produce(context.Background(), rec, func(r producer.Result) {
			s.told.Add(1)
			switch {
			case r.Outcome == producer.Unknown && errors.Is(r.Err, producer.ErrStateLost) && r.Partition == 0:
				s.unknown++
			case r.Outcome != producer.Written:
				s.t.Errorf("%s: %v", rec.Value, r.Err)
			}
		})
	}
}

// live is the part of a lane's life in one storm: it may be resumed, and does again
// what it did since its checkpoint.
func (s *sleepless) live(l *sleeplessLane, over time.Time) {
	for time.Now().Before(over) {
		rec := producer.Record{Topic: "t", Partition: producer.On(1 + int32(l.next)%(s.parts-1)), Value: fmt.Appendf(nil, "lane%d %d", l.id, l.next)}
		s.asked.Add(1)
		l.lane.Produce(context.Background(), rec, func(producer.Result) { s.told.Add(1) })
		l.next++
		l.most = max(l.most, l.next)
		if s.rng.IntN(3) == 0 {
			s.pause(50 * time.Millisecond)
		}
		if s.rng.IntN(60) == 0 {
			s.resume(l)
		}
	}
}

func (s *sleepless) resume(l *sleeplessLane) {
	l.lane.Abort()
	if err := l.lane.Close(context.Background()); err != nil {
		s.t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lane, err := s.p.Resume(ctx, l.cp)
	if err != nil {
		s.t.Errorf("lane %d: %v", l.id, err)
		return
	}
	l.lane, l.next = lane, l.saved
}

func (s *sleepless) store(l *sleeplessLane) {
	var err error
	if l.cp, err = l.lane.Checkpoint(context.Background()); err != nil {
		s.t.Errorf("lane %d: %v", l.id, err)
	}
	l.saved = l.next
}

// calm is far less than a delivery timeout, and more than a request and a dial may
// take that still wait for what never comes, with their pauses. It does not flush:
// that would have everything looked at once more.
func (s *sleepless) calm() {
	began := time.Now()
	for s.told.Load() < s.asked.Load() && time.Since(began) < 20*time.Second {
		time.Sleep(100 * time.Millisecond)
	}
	if left := s.asked.Load() - s.told.Load(); left > 0 {
		s.t.Errorf("after the storm that ended at %v %d records are forgotten", began, left)
		for _, l := range s.lanes {
			s.t.Logf("lane %d: %s", l.id, producer.LaneState(l.lane))
		}
	}
	for _, l := range s.lanes {
		if err := l.lane.Err(); err != nil {
			s.t.Errorf("lane %d: %v", l.id, err)
		} else if s.rng.IntN(2) == 0 {
			s.store(l)
		}
	}
}

// judge looks for each record once, and in order.
func (s *sleepless) judge() {
	if s.t.Failed() {
		return
	}
	count := map[string]int{}
	for q := range s.parts {
		last := map[string]int{}
		for _, v := range values(s.t, s.c, q) {
			var who string
			var i int
			fmt.Sscanf(v, "%s %d", &who, &i)
			if before, ok := last[who]; ok && i <= before {
				s.t.Errorf("partition %d: %s %d behind %d", q, who, i, before)
			}
			last[who] = i
			count[who]++
		}
	}
	if n := count["own"]; n > s.own || n < s.own-s.unknown {
		s.t.Errorf("%d own records in the log of %d, %d unknown", n, s.own, s.unknown)
	}
	for _, l := range s.lanes {
		if n := count[fmt.Sprint("lane", l.id)]; n < l.next || n > l.most {
			s.t.Errorf("lane %d: %d records in the log, of %d to %d", l.id, n, l.next, l.most)
		}
	}
	st := s.p.Stats()
	s.t.Logf("%d own, %d unknown, lanes %d %d %d; %d connections, %d questions, %d resends",
		s.own, s.unknown, s.lanes[0].most, s.lanes[1].most, s.lanes[2].most, st.Connections, st.Questions, st.Resends)
}
