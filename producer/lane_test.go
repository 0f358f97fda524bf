package producer_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

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
			lanes[i%3].Produce(t.Context(), numbered(i), func(r producer.Result) {
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

// A record of a lane whose time is over says what it waited for, even if it was
// never sent: a bare timeout leaves an operator without a clue.
func TestLaneTimeoutNamesItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		l := p.Lane()
		if _, err := l.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Fatal(err)
		}
		c.Stop(0)
		_, err := l.ProduceSync(t.Context(), numbered(1))
		var re *producer.RecordError
		errors.As(err, &re)
		if !errors.Is(err, producer.ErrDeliveryTimeout) || re.Err == nil {
			t.Errorf("%v", err)
		}
		t.Log(l.Err())
	})
}

// The first request of a lane may be lost like any other. A broker that knows
// nothing of the lane then has lost nothing, for there was nothing before.
func TestLaneSurvivesALostFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, topics(1))
		p := newProducer(t, c, nil)
		n := 0
		c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if n++; n == 1 {
				return producertest.Cut()
			}
			return producertest.Fault{}
		})
		l := p.Lane()
		began := time.Now()
		_, err := l.ProduceSync(t.Context(), numbered(0))
		if err != nil {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
