package producer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

func keyed(i int) producer.Record {
	return producer.Record{Topic: "t", Key: fmt.Append(nil, i%20), Value: fmt.Append(nil, i)}
}

// wantOnce checks that values 0 to n-1 are in topic t once each, and in the order
// of their keys.
func wantOnce(t *testing.T, c *producertest.Cluster, partitions int32, n int) {
	t.Helper()
	times := map[string]int{}
	for q := range partitions {
		last := map[string]int{}
		records, err := c.Records("t", q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			times[string(r.Value)]++
			var i int
			_, _ = fmt.Sscan(string(r.Value), &i)
			if before, seen := last[string(r.Key)]; seen && i <= before {
				t.Errorf("partition %d: %d behind %d", q, i, before)
			}
			last[string(r.Key)] = i
		}
	}
	for i := range n {
		if k := times[fmt.Sprint(i)]; k != 1 {
			t.Errorf("record %d is there %d times", i, k)
		}
	}
}

// Partitions are added to the output while a lane lives, or between two lives of
// it: its keys stay where they are. A new lane uses all partitions.
func TestPartitionsAddedUnderALane(t *testing.T) {
	for name, test := range map[string]struct {
		declared bool
		early    bool // the checkpoint comes before the first record
		living   bool // the lane still runs when the partition is added
	}{
		"between two lives":                    {},
		"between two lives, declared":          {declared: true},
		"between two lives, before any record": {declared: true, early: true},
		"in its life":                          {living: true},
		"in its life, declared":                {living: true, declared: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, topics(2))
				p := newProducer(t, c, nil)
				l := p.Lane()
				if test.declared {
					l = p.Lane("t")
				}
				cp := mustCheckpoint(t, l)
				produceAll(t, l, 0, 100, keyed)
				if !test.early {
					cp = mustCheckpoint(t, l)
				}
				produceAll(t, l, 100, 150, keyed)
				if err := c.AddPartitions("t", 3); err != nil {
					t.Fatal(err)
				}
				if test.living {
					time.Sleep(10 * time.Minute) // metadata.max.age.ms, twice
					produceAll(t, l, 150, 200, keyed)
				}
				end(t, p)
				l = mustResume(t, c, cp, nil)
				from := 100
				if test.early {
					from = 0
				}
				produceAll(t, l, from, 250, keyed)
				wantOnce(t, c, 5, 250)
				if got := values(t, c, 2); len(got) > 0 {
					t.Errorf("in a new partition: %v", got)
				}
				fresh := newProducer(t, c, nil).Lane()
				mustCheckpoint(t, fresh)
				produceAll(t, fresh, 250, 350, keyed)
				if len(values(t, c, 2))+len(values(t, c, 3))+len(values(t, c, 4)) == 0 {
					t.Error("a new lane does not use the new partitions")
				}
			})
		})
	}
}

// A topic with fewer partitions than the checkpoint tells is another one.
func TestResumeWithFewerPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(2))
		l := newProducer(t, c, nil).Lane()
		produceAll(t, l, 0, 10, keyed)
		cp := mustCheckpoint(t, l)
		cp.Topics[0].Partitions = 5
		if _, err := newProducer(t, c, nil).Resume(t.Context(), cp); !errors.Is(err, producer.ErrTopicRecreated) {
			t.Errorf("%v", err)
		}
	})
}

// A topic that a lane is made for and that does not exist holds up its first
// checkpoint, and is named.
func TestDeclaredTopicThatIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		l := newProducer(t, c, nil).Lane("t", "nowhere")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := l.Checkpoint(ctx)
		if want := `topic "nowhere" is not known`; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
		if err := c.CreateTopic("nowhere", 3); err != nil {
			t.Fatal(err)
		}
		cp := mustCheckpoint(t, l)
		if len(cp.Topics) != 2 || cp.Topics[0].Partitions != 3 || len(cp.Partitions) != 4 {
			t.Errorf("%+v", cp)
		}
		if l := newProducer(t, c, nil).Lane(""); l.Err() == nil {
			t.Error("a topic without a name")
		}
	})
}
