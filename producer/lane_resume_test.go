package producer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// A process dies at any moment, and the next one carries on from its latest
// checkpoint: every record is there once, in order.
func TestResumeAfterASuddenEnd(t *testing.T) {
	for name, cc := range kinds() {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(25) {
				synctest.Test(t, func(t *testing.T) {
					resumeOften(t, rand.New(rand.NewPCG(seed, 1)), cc)
				})
			}
		})
	}
}

// resumeOften does not ask for violations: the watch takes one owner for granted
// that did not restart.
func resumeOften(t *testing.T, rng *rand.Rand, cc producertest.Config) {
	const n = 400
	c := newCluster(t, cc)
	setting := func(c *config.Config) {
		c.Linger, c.BatchBytes = time.Duration(rng.IntN(3))*time.Millisecond, 70+rng.IntN(800)
	}
	faults, dice := rng.IntN(2) == 0, rand.New(rand.NewPCG(rng.Uint64(), 2)) // of the brokers alone
	c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
		switch {
		case faults && dice.IntN(30) == 0:
			return producertest.Drop()
		case faults && dice.IntN(30) == 0:
			return producertest.Cut()
		}
		return producertest.Fault{}
	})
	p := newProducer(t, c, setting)
	l := p.Lane()
	cp, err := l.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := 0 // records before the checkpoint
	for ends := 0; ; ends++ {
		until := at + 1 + rng.IntN(120)
		if ends > 12 {
			until = n
		}
		i := at
		for ; i < min(until, n); i++ {
			l.Produce(t.Context(), numbered(i), nil)
			if rng.IntN(25) == 0 {
				if got, err := l.Checkpoint(t.Context()); err == nil {
					cp, at = got, i+1
				}
			}
			if rng.IntN(10) == 0 {
				time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
			}
		}
		if i == n {
			break
		}
		end(t, p)
		p = newProducer(t, c, setting)
		if l, err = p.Resume(t.Context(), cp); err != nil {
			t.Fatalf("resume at %d: %v", at, err)
		}
	}
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	wantCount(t, c, 0, n)
}

// Sequences begin again at 0 behind 2^31-1. A lane is resumed over and over
// just there, with other batches each time, and every record is there once, in
// order.
func TestResumeAroundTheWrap(t *testing.T) {
	for _, behind := range []int32{0, 1, 3, 4, 5, 7, 100} {
		t.Run(fmt.Sprint(behind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(behind), 5))
				c := newCluster(t, topics(1))
				p := newProducer(t, c, func(c *config.Config) { c.BatchBytes = 150 })
				l := p.Lane()
				cp, err := l.Checkpoint(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				cp.Partitions = []producer.PartitionCheckpoint{{Topic: "t", Next: 1<<31 - 1 - behind, Offset: -1}}
				at := 0
				for range 30 {
					end(t, p)
					p = newProducer(t, c, func(c *config.Config) { c.BatchBytes = 70 + rng.IntN(200) })
					if l, err = p.Resume(t.Context(), cp); err != nil {
						t.Fatalf("at %d: %v %+v", at, err, cp)
					}
					k := rng.IntN(6)
					for range k {
						l.Produce(t.Context(), numbered(at), nil)
						at++
					}
					got, err := l.Checkpoint(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					cp = got
					for i := range rng.IntN(6) {
						l.Produce(t.Context(), numbered(at+i), nil)
					}
					time.Sleep(time.Duration(rng.IntN(10)) * time.Millisecond)
				}
				end(t, p)
				p = newProducer(t, c, nil)
				if l, err = p.Resume(t.Context(), cp); err != nil {
					t.Fatal(err)
				}
				for ; at < 150; at++ {
					l.Produce(t.Context(), numbered(at), nil)
				}
				if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
					t.Fatal(err)
				}
				wantCount(t, c, 0, 150)
			})
		})
	}
}

// A broker forgets a producer whose partition is quiet for long. From a
// checkpoint that is not old nothing can be missing there.
func TestResumeOfAQuietPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		for i := range 5 {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Hour)
		if err := c.ForgetProducers("t", 0); err != nil {
			t.Fatal(err)
		}
		cp, err := l.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.ProduceSync(t.Context(), numbered(5)); err != nil {
			t.Fatalf("the lane itself: %v", err)
		}
		end(t, p)
		if l, err = newProducer(t, c, nil).Resume(t.Context(), cp); err != nil {
			t.Fatal(err)
		}
		for i := 5; i < 10; i++ {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		wantCount(t, c, 0, 10)
	})
}

// What the former process wrote is passed over only while no batch is with the
// encoders. So a partition that has to pass over begins no more of them: else a
// steady stream keeps the encoders busy and nothing has an outcome, however
// often the broker is asked.
func TestResumePassesOverWhileItCompresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		setting := func(c *config.Config) { c.Linger, c.BatchBytes = 0, 70 }
		p := newProducer(t, c, setting)
		l := p.Lane()
		cp, err := l.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		end(t, p)
		p = newProducer(t, c, setting)
		c.OnResponse(func(r *producertest.Response) {
			if r.Request.Key() == 61 {
				r.Delay = time.Millisecond
			}
		})
		producer.SetCompressor(p, sleepyCodec{15 * time.Millisecond})
		if l, err = p.Resume(t.Context(), cp); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var first time.Duration
		for i := range 4000 {
			l.Produce(t.Context(), numbered(i), func(producer.Result) {
				if first == 0 {
					first = time.Since(began)
				}
			})
			time.Sleep(7 * time.Millisecond)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		t.Logf("first outcome after %v of %v, %d questions", first, time.Since(began), p.Stats().Questions)
		if first > 5*time.Second || p.Stats().Questions > 100 {
			t.Fail()
		}
	})
}
