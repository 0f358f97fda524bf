package producer_test

import (
	"context"
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

// newProducer makes one for the cluster, which the test ends.
func newProducer(t *testing.T, c *producertest.Cluster, change func(*config.Config)) *producer.Producer {
	t.Helper()
	cfg := config.Default()
	cfg.BootstrapServers, cfg.Dialer, cfg.AllowAutoCreateTopics = c.Addrs(), c.Dial, false
	if change != nil {
		change(&cfg)
	}
	p, err := producer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, p) })
	return p
}

// end is the sudden end of a process.
func end(t *testing.T, p *producer.Producer) {
	t.Helper()
	p.Abort()
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func newCluster(t *testing.T, c producertest.Config) *producertest.Cluster {
	t.Helper()
	cluster, err := producertest.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster
}

// values of the records in a partition, in order.
func values(t *testing.T, c *producertest.Cluster, partition int32) (all []string) {
	t.Helper()
	records, err := c.Records("t", partition)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		all = append(all, string(r.Value))
	}
	return all
}

// wantCount checks that a partition holds 0, 1, ... n-1.
func wantCount(t *testing.T, c *producertest.Cluster, partition int32, n int) {
	t.Helper()
	got := values(t, c, partition)
	for i, v := range got {
		if v != fmt.Sprint(i) {
			t.Fatalf("partition %d: record %d is %s: %v", partition, i, v, got)
		}
	}
	if len(got) != n {
		t.Fatalf("partition %d: %d records, want %d", partition, len(got), n)
	}
}

func numbered(i int) producer.Record {
	return producer.Record{Topic: "t", Value: []byte(fmt.Sprint(i)), Partition: producer.On(0)}
}

// Lanes have a producer ID each, and requests carry a partition once however
// many of them write to it.
func TestLanesHaveTheirOwnSequences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, smallBatches)
		lanes := []*producer.Lane{p.Lane(), p.Lane(), p.Lane()}
		ids := map[int64]bool{}
		c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			ids[a.ProducerID] = true
			return producertest.Fault{}
		})
		for i := range 300 {
			lanes[i%3].Produce(t.Context(), producer.Record{Topic: "t", Value: []byte(fmt.Sprint(i))}, func(r producer.Result) {
				if r.Err != nil {
					t.Error(r.Err)
				}
			})
		}
		p.Produce(t.Context(), producer.Record{Topic: "t", Value: []byte("300")}, nil)
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(ids) != 4 {
			t.Errorf("%d producer ids", len(ids))
		}
		last := map[int]int{}
		for _, v := range values(t, c, 0) {
			var i int
			_, _ = fmt.Sscan(v, &i)
			if i < 300 {
				if last[i%3] > i {
					t.Errorf("record %d after %d", i, last[i%3])
				}
				last[i%3] = i
			}
		}
		if n := len(values(t, c, 0)); n != 301 {
			t.Errorf("%d records", n)
		}
		for _, v := range c.Violations() {
			t.Errorf("violation: %s", v)
		}
	})
}

// A lane stops at the first record that is not written; the others go on.
func TestLaneStopsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(2))
		p := newProducer(t, c, smallBatches)
		good, bad := p.Lane(), p.Lane()
		for i := range 5 {
			if _, err := good.ProduceSync(t.Context(), numbered(i)); err != nil {
				t.Fatal(err)
			}
			if _, err := bad.ProduceSync(t.Context(), producer.Record{Topic: "t", Value: []byte("x"), Partition: producer.On(1)}); err != nil {
				t.Fatal(err)
			}
		}
		c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.Partition == 1 {
				return producertest.Refuse(87) // INVALID_RECORD
			}
			return producertest.Fault{}
		})
		var outcomes []producer.Outcome
		for range 5 {
			bad.Produce(t.Context(), producer.Record{Topic: "t", Value: []byte("y"), Partition: producer.On(1)}, func(r producer.Result) {
				outcomes = append(outcomes, r.Outcome)
			})
		}
		if err := bad.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.OnProduce(nil)
		if err := bad.Err(); !errors.Is(err, producer.ErrLaneFailed) || !errors.Is(err, producer.Code(87)) {
			t.Errorf("the lane says %v", err)
		}
		if _, err := bad.ProduceSync(t.Context(), numbered(0)); !errors.Is(err, producer.ErrLaneFailed) {
			t.Errorf("a later record: %v", err)
		}
		if _, err := bad.Checkpoint(t.Context()); !errors.Is(err, producer.ErrLaneFailed) {
			t.Errorf("a checkpoint: %v", err)
		}
		for _, o := range outcomes {
			if o == producer.Written {
				t.Errorf("outcome %v", o)
			}
		}
		if _, err := good.ProduceSync(t.Context(), numbered(5)); err != nil {
			t.Error(err)
		}
		wantCount(t, c, 0, 6)
		if n := len(values(t, c, 1)); n != 5 {
			t.Errorf("%d records in the other partition", n)
		}
	})
}

// A checkpoint counts what was produced before it and nothing else.
func TestCheckpointIsAPointInTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		var marks []*producer.Mark
		for i := range 100 {
			l.Produce(t.Context(), numbered(i), nil)
			if i%10 == 9 {
				m, err := l.Mark(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				marks = append(marks, m)
			}
		}
		for i, m := range marks {
			cp, err := m.Checkpoint(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := int32(10 * (i + 1))
			if len(cp.Partitions) != 1 || cp.Partitions[0].Next != want || cp.Partitions[0].Offset != int64(want-1) {
				t.Errorf("mark %d: %+v", i, cp)
			}
		}
	})
}

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

// kinds are the brokers there are.
func kinds() map[string]producertest.Config {
	taught := topics(1)
	taught.SequenceWindow = 1000
	return map[string]producertest.Config{"stock": topics(1), "kip-758": taught}
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

// Where carrying on could only be a guess, Resume refuses and says why.
func TestResumeRefuses(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*producertest.Cluster, *producer.Checkpoint) error
		want  error
	}{
		{"state gone", func(c *producertest.Cluster, _ *producer.Checkpoint) error {
			time.Sleep(13 * time.Hour) // more than half of producer.id.expiration.ms
			return c.ForgetProducers("t", 0)
		}, producer.ErrStateLost},
		{"topic recreated", func(c *producertest.Cluster, _ *producer.Checkpoint) error {
			return errors.Join(c.DeleteTopic("t"), c.CreateTopic("t", 1))
		}, producer.ErrTopicRecreated},
		{"a newer epoch", func(_ *producertest.Cluster, cp *producer.Checkpoint) error {
			cp.Partitions[0].Epoch--
			return nil
		}, producer.ErrCheckpoint},
		{"ahead of the log", func(_ *producertest.Cluster, cp *producer.Checkpoint) error {
			cp.Partitions[0].Next += 10
			return nil
		}, producer.ErrDataLoss},
		{"another cluster", func(_ *producertest.Cluster, cp *producer.Checkpoint) error {
			cp.ClusterID = "elsewhere"
			return nil
		}, producer.ErrOtherCluster},
		{"no producer id", func(_ *producertest.Cluster, cp *producer.Checkpoint) error {
			*cp = producer.Checkpoint{ProducerID: -1, Taken: cp.Taken}
			return nil
		}, producer.ErrCheckpoint},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, topics(1))
				p := newProducer(t, c, nil)
				l := p.Lane()
				for i := range 5 {
					l.Produce(t.Context(), numbered(i), nil)
				}
				cp, err := l.Checkpoint(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				end(t, p)
				if err := test.spoil(c, &cp); err != nil {
					t.Fatal(err)
				}
				l, err = newProducer(t, c, nil).Resume(t.Context(), cp)
				if !errors.Is(err, test.want) || l != nil {
					t.Errorf("%v, want %v", err, test.want)
				}
			})
		})
	}
}

// Without an answer to the question how far the former process came there is no
// resuming.
func TestResumeNeedsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, silent())
		p := newProducer(t, c, nil)
		l := p.Lane()
		cp, err := l.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.ProduceSync(t.Context(), numbered(0)); !errors.Is(err, producer.ErrCannotAsk) {
			t.Errorf("a lane: %v, want %v", err, producer.ErrCannotAsk)
		}
		cp.Partitions = append(cp.Partitions, producer.PartitionCheckpoint{Topic: "t", Next: 7, Offset: 6})
		if _, err := p.Resume(t.Context(), cp); !errors.Is(err, producer.ErrCannotAsk) {
			t.Errorf("%v, want %v", err, producer.ErrCannotAsk)
		}
	})
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

// A batch that is too large for the broker is sent in parts, in the same epoch.
func TestLaneSplitsWhatIsTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.MaxMessageBytes = 2000
		c := newCluster(t, cc)
		p := newProducer(t, c, nil)
		l := p.Lane()
		for i := range 500 {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		wantCount(t, c, 0, 500)
	})
}
