package producer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/producer"
)

// seedsFrom says which storms to go through: the first 20, or those that the
// environment names.
func seedsFrom(t *testing.T) (from, to uint64) {
	from, to = 0, 20
	if s := os.Getenv("SEED_FROM"); s != "" {
		from, _ = strconv.ParseUint(s, 10, 64)
	}
	if s := os.Getenv("SEED_TO"); s != "" {
		to, _ = strconv.ParseUint(s, 10, 64)
	}
	return
}

// The storm of TestFaultStorm, of other seeds where SEED_FROM and SEED_TO are
// set: for long runs, and to repeat one.
func TestFaultStormOfSeeds(t *testing.T) {
	from, to := seedsFrom(t)
	for seed := from; seed < to; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newStorm(t, seed).run() })
		})
	}
}

// The storm with lanes. Each is a pipeline that stores checkpoints, and is
// resumed from the latest when the lane has failed: whatever happens in
// between, each record of it is there once, and in order.
func TestLaneStorm(t *testing.T) {
	from, to := seedsFrom(t)
	for seed := from; seed < to; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { laneStorm(t, seed) })
		})
	}
}

// laneLog is what one pipeline produced and stored.
type laneLog struct {
	id    int
	at    int // next input
	saved int
	cp    producer.Checkpoint
	lane  *producer.Lane
	p     *producer.Producer
	dead  bool
	mu    sync.Mutex
	calls map[int]int // results by input, of this life
	sent  map[int]bool
}

func laneStorm(t *testing.T, seed uint64) {
	w := newStorm(t, seed)
	rng := rand.New(rand.NewPCG(seed, 9))
	w.c.OnProduce(w.batchFault)
	w.c.OnResponse(w.answerFault)
	var shaking sync.WaitGroup
	shaking.Go(w.shakeBrokers)
	lanes := make([]*laneLog, 1+rng.IntN(4))
	var wg sync.WaitGroup
	for i := range lanes {
		lanes[i] = &laneLog{id: i, p: w.p}
		r := rand.New(rand.NewPCG(seed, uint64(100+i)))
		wg.Go(func() { w.pipeline(lanes[i], r, 150) })
	}
	for range 100 {
		w.produce(t.Context(), producer.Record{Topic: "t", Partition: producer.On(w.rng.Int32N(w.parts))}, recordSize)
		if w.rng.IntN(20) == 0 {
			time.Sleep(time.Duration(w.rng.IntN(200)) * time.Millisecond)
		}
	}
	time.Sleep(time.Duration(rng.IntN(60)) * time.Second)
	w.over.Store(true)
	shaking.Wait()
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * time.Hour):
		for _, l := range lanes {
			t.Errorf("lane %d hangs at %d: %v\n%s", l.id, l.at, l.lane.Err(), producer.LaneState(l.lane))
		}
		t.Fatal("hang")
	}
	w.flush(time.Hour)
	for _, l := range lanes {
		if l.dead {
			continue
		}
		if err := l.lane.Err(); err != nil {
			t.Errorf("lane %d: %v", l.id, err)
		}
	}
	w.judgeLanes(lanes, 150)
}

func (w *storm) pipeline(l *laneLog, rng *rand.Rand, n int) {
	t := w.t
	l.lane = l.p.Lane()
	for {
		cp, err := l.lane.Checkpoint(context.Background())
		if err == nil {
			l.cp = cp
			break
		}
		t.Logf("lane %d first checkpoint: %v", l.id, err)
		l.lane = l.p.Lane()
	}
	for lives := 0; ; lives++ {
		i := l.saved
		for ; i < n && l.lane.Err() == nil; i++ {
			part := int32(i*7+l.id) % w.parts
			rec := producer.Record{Topic: "t", Partition: producer.On(part), Value: []byte(fmt.Sprintf("L%d-%06d", l.id, i))}
			l.lane.Produce(context.Background(), rec, nil)
			if rng.IntN(15) == 0 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(20))*time.Second)
				cp, err := l.lane.Checkpoint(ctx)
				cancel()
				if err == nil {
					l.cp, l.saved = cp, i+1
				}
			}
			if rng.IntN(10) == 0 {
				time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
			}
			if !w.over.Load() && rng.IntN(150) == 0 {
				l.lane.Abort()
				break
			}
		}
		if i == n && l.lane.Err() == nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			err := l.lane.Flush(ctx)
			cancel()
			if err != nil {
				t.Errorf("lane %d: flush: %v\n%s", l.id, err, producer.LaneState(l.lane))
				l.dead = true
				return
			}
			if l.lane.Err() == nil {
				if cp, err := l.lane.Checkpoint(context.Background()); err != nil {
					t.Errorf("last checkpoint: %v", err)
				} else {
					l.cp, l.saved = cp, n
				}
				return
			}
		}
		why := l.lane.Err()
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		if err := l.lane.Close(ctx); err != nil {
			t.Errorf("lane %d: close: %v (%v)\n%s", l.id, err, why, producer.LaneState(l.lane))
			l.dead = true
			cancel()
			return
		}
		lane, err := l.p.Resume(ctx, l.cp)
		cancel()
		if err != nil {
			t.Errorf("lane %d: life %d, after %v: resume: %v: %+v", l.id, lives, why, err, l.cp)
			l.dead = true
			return
		}
		l.lane = lane
		if errors.Is(why, producer.ErrSecondOwner) || errors.Is(why, producer.ErrStateLost) || errors.Is(why, producer.ErrDataLoss) {
			t.Logf("lane %d: %v", l.id, why)
		}
	}
}

func (w *storm) judgeLanes(lanes []*laneLog, n int) {
	t := w.t
	if err := w.p.Close(w.within(5 * time.Minute)); err != nil {
		t.Fatalf("close: %v", err)
	}
	seen := map[string]int{}
	for p := range w.parts {
		recs, err := w.c.Records("t", p)
		if err != nil {
			t.Fatal(err)
		}
		last := map[int]int{}
		for _, r := range recs {
			var id, i int
			if k, _ := fmt.Sscanf(string(r.Value), "L%d-%d", &id, &i); k != 2 {
				continue
			}
			seen[string(r.Value)]++
			if prev, ok := last[id]; ok && prev >= i {
				t.Errorf("partition %d: lane %d: %d behind %d", p, id, i, prev)
			}
			last[id] = i
		}
	}
	for _, l := range lanes {
		for i := range n {
			want := 1
			if l.dead && i >= l.saved {
				continue
			}
			if k := seen[fmt.Sprintf("L%d-%06d", l.id, i)]; k != want {
				t.Errorf("lane %d: record %d is there %d times (saved %d, dead %v)", l.id, i, k, l.saved, l.dead)
			}
		}
	}
	if s := w.p.Stats(); s.BufferedBytes != 0 || s.Blocked != 0 {
		t.Errorf("%d bytes in use, %d blocked", s.BufferedBytes, s.Blocked)
	}
}
