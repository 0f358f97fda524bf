package producer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
)

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

// A record that still waits for its topic when Mark is called lies before the
// mark. If it is refused then, there is no checkpoint: one would count it as
// written.
func TestCheckpointCountsNoRefusedRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		if _, err := l.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Fatal(err)
		}
		var got producer.Result
		l.Produce(t.Context(), producer.Record{Topic: "t", Partition: producer.On(7), Value: []byte("x")}, func(r producer.Result) { got = r })
		cp, err := l.Checkpoint(t.Context())
		synctest.Wait()
		t.Logf("record: %+v; lane: %v", got, l.Err())
		if err == nil && got.Outcome != producer.Written {
			t.Errorf("a checkpoint %v %+v that counts a record which is %v", cp, cp.Partitions, got.Outcome)
		}
	})
}

// A checkpoint is as old as its mark, not as the call that fetches it: what a
// broker still remembers is judged by that, and a later time would make Resume
// trust a broker that has forgotten records behind the mark.
func TestCheckpointIsAsOldAsItsMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		for i := range 5 {
			l.Produce(t.Context(), numbered(i), nil)
		}
		m, err := l.Mark(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := 5; i < 10; i++ {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Hour) // quiet, and the broker forgets
		if err := c.ForgetProducers("t", 0); err != nil {
			t.Fatal(err)
		}
		cp, err := m.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		end(t, p)
		l, err = newProducer(t, c, nil).Resume(t.Context(), cp)
		if err != nil {
			t.Logf("refused, as it should: %v", err)
			return
		}
		for i := 5; i < 12; i++ {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := errors.Join(l.Flush(t.Context()), l.Err()); err != nil {
			t.Fatal(err)
		}
		wantCount(t, c, 0, 12)
	})
}

// A lane notices that its topic was recreated while it has nothing to write: a
// checkpoint of it would count records that are gone, and the next record must
// fail at once and not at its deadline.
func TestIdleLaneNoticesARecreatedTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, func(c *config.Config) { c.MetadataMaxAge = time.Minute })
		l := p.Lane()
		for i := range 5 {
			l.Produce(t.Context(), numbered(i), nil)
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.DeleteTopic("t"), c.CreateTopic("t", 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		cp, err := l.Checkpoint(t.Context())
		t.Logf("checkpoint: %+v %v", cp, err)
		if err == nil {
			l2, err := newProducer(t, c, nil).Resume(t.Context(), cp)
			t.Logf("resume of it: %v", err)
			if err == nil {
				t.Error("Resume takes a checkpoint of a topic that was recreated")
				_ = l2
			}
		}
		began := time.Now()
		_, err = l.ProduceSync(t.Context(), numbered(5))
		t.Logf("after %v: %v", time.Since(began), err)
		if !errors.Is(err, producer.ErrTopicRecreated) || time.Since(began) > 10*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
