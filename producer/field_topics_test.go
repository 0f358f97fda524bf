package producer_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// asked counts what metadata requests name.
type asked struct {
	mu       sync.Mutex
	requests int
	names    int
	creating map[string]bool // named where creation was allowed
	latest   map[string]bool
}

func newAsked(c *producertest.Cluster) *asked {
	a := &asked{creating: map[string]bool{}}
	c.OnResponse(func(r *producertest.Response) {
		q, ok := r.Request.(*kmsg.MetadataRequest)
		if !ok {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.requests++
		a.names += len(q.Topics)
		a.latest = map[string]bool{}
		for _, t := range q.Topics {
			a.latest[*t.Topic] = true
			if q.AllowAutoTopicCreation {
				a.creating[*t.Topic] = true
			}
		}
	})
	return a
}

func (a *asked) now() (requests, names int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests, a.names
}

// Many topics at once, one record each: the requests are few, and name each topic
// about once. All known before, all created on demand, and in lanes of their own.
func TestManyTopics(t *testing.T) {
	const n = 2000
	for _, how := range []string{"known", "created", "lanes"} {
		t.Run(how, func(t *testing.T) {
			cc := producertest.Config{InMemory: true, Topics: map[string]int32{}}
			if how == "created" {
				cc.AutoCreateTopics = 1
			} else {
				for i := range n {
					cc.Topics[fmt.Sprint("t", i)] = 1
				}
			}
			r := newRig(t, cc, func(c *config.Config) { c.AllowAutoCreateTopics = true })
			a := newAsked(r.c)
			begun := time.Now()
			for i := range n {
				rec := producer.Record{Topic: fmt.Sprint("t", i), Key: []byte("k")}
				if how == "lanes" {
					lane := r.p.Lane()
					number, rec := r.enter(rec, 10)
					lane.Produce(t.Context(), rec, func(res producer.Result) { r.note(number, res) })
					continue
				}
				r.produce(t.Context(), rec, 10)
			}
			r.flush(time.Minute)
			requests, names := a.now()
			t.Logf("%d topics: %d requests that name %d, in %v", n, requests, names, time.Since(begun))
			if requests > n/4 || names > 4*n {
				t.Errorf("%d metadata requests name %d topics", requests, names)
			}
			if sum := r.judge(); sum.written != n {
				t.Errorf("%+v", sum)
			}
		})
	}
}

// A topic that nobody has a record for is not created, however it went: it was
// deleted after its records were written, after an idle time, or never had one.
func TestDeletedTopicIsNotCreatedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.AutoCreateTopics = 1
		r := newRig(t, cc, func(c *config.Config) { c.AllowAutoCreateTopics = true })
		for _, name := range []string{"gone", "t"} {
			if _, err := r.p.ProduceSync(t.Context(), producer.Record{Topic: name, Value: []byte("x")}); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.c.DeleteTopic("gone"); err != nil {
			t.Fatal(err)
		}
		for range 20 { // refreshes of all kinds, and records for another topic
			if _, err := r.p.ProduceSync(t.Context(), producer.Record{Topic: "t", Value: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			if err := r.p.Ping(r.within(time.Minute)); err != nil {
				t.Fatal(err)
			}
			r.c.MoveLeader("t", 0, 0)
			time.Sleep(time.Minute)
		}
		if err := r.p.Ping(r.within(5*time.Second), "typo"); err == nil {
			t.Error("ping found a topic that is not there")
		}
		for _, name := range []string{"gone", "typo"} {
			if _, _, err := r.c.Leader(name, 0); err == nil {
				t.Errorf("%q exists again", name)
			}
		}
		// A record is a reason.
		if res, err := r.p.ProduceSync(t.Context(), producer.Record{Topic: "gone", Value: []byte("x")}); err != nil {
			t.Errorf("%+v", res)
		}
	})
}

// KIP-526: idle topics leave the metadata requests, those that never existed and
// those that were written to. What is in use stays, and what left comes back with
// the next record, once and in order.
func TestIdleTopicsLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		for i := range 50 {
			cc.Topics[fmt.Sprint("used", i)] = 2
		}
		r := newRig(t, cc, nil)
		a := newAsked(r.c)
		for i := range 50 {
			r.produce(t.Context(), producer.Record{Topic: fmt.Sprint("typo", i)}, 10)
			r.produce(t.Context(), producer.Record{Topic: fmt.Sprint("used", i)}, 10)
		}
		r.flush(time.Minute)
		for range 20 {
			if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if err := r.p.Ping(r.within(time.Minute)); err != nil {
			t.Fatal(err)
		}
		a.mu.Lock()
		if len(a.latest) != 1 || !a.latest["t"] {
			t.Errorf("a refresh names %v", a.latest)
		}
		a.mu.Unlock()
		if parts := r.p.Stats().Partitions; len(parts) != 1 {
			t.Errorf("%d partitions are kept", len(parts))
		}
		for i := range 50 {
			for range 3 {
				r.produce(t.Context(), producer.Record{Topic: fmt.Sprint("used", i)}, 10)
			}
		}
		if sum := r.judge(); sum.written != 50+20+150 || sum.notWritten != 50 {
			t.Errorf("%+v", sum)
		}
	})
}

// Records that come while topics are let go of find what takes their place.
func TestIdleTopicsLeaveUnderWay(t *testing.T) {
	cc := producertest.Config{InMemory: true, Topics: map[string]int32{}}
	for i := range 4 {
		cc.Topics[fmt.Sprint("t", i)] = 2
	}
	r := newRig(t, cc, func(c *config.Config) { c.MetadataMaxIdle, c.RetryBackoff = 4*time.Millisecond, time.Millisecond })
	r.unordered = true
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 300 {
				r.produce(t.Context(), producer.Record{Topic: fmt.Sprint("t", (g+i)%4), Partition: producer.On(int32(i % 2))}, 10)
				if i%3 == 0 {
					r.p.Flush(t.Context())
				}
				if i%20 == 0 {
					time.Sleep(6 * time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	if sum := r.judge(); sum.written != 1200 {
		t.Errorf("%+v", sum)
	}
}
