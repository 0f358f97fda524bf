package producer_test

import (
	"fmt"
	"maps"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// everOther is a cluster of one broker that metadata names otherwise in each round:
// the leader has a new node ID, and some more are named that lead nothing.
type everOther struct {
	round int32
	idle  int32 // brokers besides that lead nothing
}

func (e *everOther) hook(r *producertest.Response) {
	m, ok := r.Message.(*kmsg.MetadataResponse)
	if !ok {
		return
	}
	id := 1 + e.round*(e.idle+1)
	own := m.Brokers[0]
	m.Brokers = nil
	for i := range e.idle + 1 {
		b := own
		b.NodeID = id + i
		m.Brokers = append(m.Brokers, b)
	}
	for i := range m.Topics {
		for j := range m.Topics[i].Partitions {
			m.Topics[i].Partitions[j].Leader = id
		}
	}
}

// Everything grows and shrinks many times: node IDs, leaders, topics that exist and
// that do not, lanes. In the end it is as it was in the beginning.
func TestGrowsAndShrinks(t *testing.T) {
	for name, idle := range map[string]int32{"leaders": 0, "and brokers that lead nothing": 20} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rounds := 1000
				if testing.Short() || raceEnabled {
					rounds = 100
				}
				r := newRig(t, topics(2), nil)
				e := &everOther{idle: idle}
				r.c.OnResponse(e.hook)
				rest := func() (map[string]int, int) {
					for range 30 { // until idle topics are gone, with t in use
						if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
							t.Fatal(err)
						}
						time.Sleep(30 * time.Second)
					}
					if err := r.p.Ping(r.within(time.Minute)); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second)
					synctest.Wait()
					return producer.Sizes(r.p), runtime.NumGoroutine()
				}
				before, goroutines := rest()
				for range rounds {
					e.round++
					grow(t, r, int(e.round))
				}
				after, left := rest()
				if !maps.Equal(before, after) || left > goroutines {
					t.Errorf("%d goroutines and %v, in the beginning %d and %v", left, after, goroutines, before)
				}
				r.judge()
			})
		})
	}
}

// grow uses a topic, misses another, and has a lane for some time, while metadata
// changes.
func grow(t *testing.T, r *rig, round int) {
	t.Helper()
	if round%10 == 0 {
		lane := r.p.Lane()
		if err := lane.Close(r.within(time.Minute)); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("new-", round)
		if err := r.c.CreateTopic(name, 1); err != nil {
			t.Fatal(err)
		}
		r.produce(t.Context(), producer.Record{Topic: name}, 10)
		r.produce(t.Context(), producer.Record{Topic: fmt.Sprint("typo-", round)}, 10)
	}
	if err := r.p.Ping(r.within(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if res, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
		t.Fatalf("%+v", res)
	}
}
