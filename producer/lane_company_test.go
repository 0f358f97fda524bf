package producer_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// A former process wakes up and goes on while the one that resumed its work is
// at it. With equal records nothing is lost, doubled or swapped, whoever writes.
func TestResumeBesideTheFormerProcess(t *testing.T) {
	for name, cc := range kinds() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(15) {
				synctest.Test(t, func(t *testing.T) {
					besideFormer(t, rand.New(rand.NewPCG(seed, 3)), cc)
				})
			}
		})
	}
}

func besideFormer(t *testing.T, rng *rand.Rand, cc producertest.Config) {
	const n = 300
	c := newCluster(t, cc)
	setting := func(c *config.Config) { c.Linger, c.BatchBytes = time.Millisecond, 70+rng.IntN(800) }
	former := newProducer(t, c, setting).Lane()
	for i := range 50 {
		former.Produce(t.Context(), numbered(i), nil)
	}
	cp, err := former.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	awake := 50 + rng.IntN(100)
	for i := 50; i < awake; i++ {
		former.Produce(t.Context(), numbered(i), nil)
	}
	p := newProducer(t, c, setting)
	l, err := p.Resume(t.Context(), cp)
	if err != nil {
		t.Fatal(err)
	}
	for i := 50; i < n; i++ {
		l.Produce(t.Context(), numbered(i), nil)
		if awake < n && rng.IntN(3) > 0 {
			former.Produce(t.Context(), numbered(awake), nil)
			awake++
		}
		if rng.IntN(5) == 0 {
			time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
		}
	}
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	got := values(t, c, 0)
	if len(got) < n {
		t.Fatalf("%d records, want %d: %v", len(got), n, got)
	}
	wantCount(t, c, 0, len(got))
}

// A process that was paused wakes up and finds that another one carried its lane
// on. It adds nothing, and begins no epoch of its own.
func TestLaneOfAPausedProcessAddsNothing(t *testing.T) {
	for name, cc := range kinds() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, cc)
				paused := newProducer(t, c, smallBatches).Lane()
				for i := range 10 {
					paused.Produce(t.Context(), numbered(i), nil)
				}
				cp, err := paused.Checkpoint(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				l, err := newProducer(t, c, smallBatches).Resume(t.Context(), cp)
				if err != nil {
					t.Fatal(err)
				}
				for i := 10; i < 30; i++ {
					l.Produce(t.Context(), numbered(i), nil)
				}
				if err := l.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				for i := 10; i < 40; i++ {
					paused.Produce(t.Context(), numbered(i), nil)
				}
				if err := paused.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				for i := 30; i < 50; i++ {
					l.Produce(t.Context(), numbered(i), nil)
				}
				if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
					t.Fatal(err)
				}
				wantCount(t, c, 0, 50)
				for _, b := range c.Log("t", 0) {
					if b.ProducerEpoch != 0 {
						t.Errorf("epoch %d", b.ProducerEpoch)
					}
				}
			})
		})
	}
}
