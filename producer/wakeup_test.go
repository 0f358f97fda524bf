package producer

import (
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// idleBrokers are senders without a loop: the test is their loop.
func idleBrokers(n int) []*broker {
	list := make([]*broker, n)
	for i := range list {
		list[i] = newBroker(new(Producer), int32(i), new(share))
	}
	return list
}

// looks is what a loop would look at now.
func (b *broker) looks() map[*partition]bool {
	found := map[*partition]bool{}
	b.collect(time.Now())
	for p := b.todo.first(); p != nil; p = b.todo.first() {
		b.todo.drop()
		found[p] = true
	}
	return found
}

// A late enqueue at a former leader, by someone who read the leader before it
// changed, does not take away the entry at the present one.
func TestLateEnqueueAtAFormerLeader(t *testing.T) {
	for name, late := range map[string][]int{"none": nil, "once": {0}, "twice": {0, 0}, "two of them": {0, 1}, "and again here": {0, 2, 1}} {
		t.Run(name, func(t *testing.T) {
			b, p := idleBrokers(3), new(partition)
			b[0].enqueue(p)
			b[2].enqueue(p) // it has moved
			for _, i := range late {
				b[i].enqueue(p)
			}
			b[0].collect(time.Now()) // the former leader comes first
			if !b[2].looks()[p] {
				t.Error("its leader does not look at it")
			}
		})
	}
}

// Whatever the brokers do in between: who was asked to look at a partition looks
// at it when it comes round next.
func TestEachEnqueueIsALook(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	brokers := idleBrokers(4)
	parts := make([]*partition, 6)
	for i := range parts {
		parts[i] = new(partition)
	}
	type due struct {
		b *broker
		p *partition
	}
	asked := map[due]bool{}
	for range 50_000 {
		b, p := brokers[rng.IntN(len(brokers))], parts[rng.IntN(len(parts))]
		if rng.IntN(3) > 0 {
			b.enqueue(p)
			asked[due{b, p}] = true
			continue
		}
		found := b.looks()
		for _, p := range parts {
			if asked[due{b, p}] && !found[p] {
				t.Fatalf("broker %d was asked to look at a partition and did not", b.id)
			}
			delete(asked, due{b, p})
		}
		if n := len(b.ready); n > 0 {
			t.Fatalf("%d entries are left", n)
		}
	}
	for _, b := range brokers {
		if n := len(b.ready); n > 1000 {
			t.Errorf("%d entries for %d partitions", n, len(parts))
		}
	}
}

// A link that dies between the moment in which a partition commits to a question
// and the request that has it: whoever leads the partition by then asks again.
func TestQuestionsOfADeadLinkAreGivenBack(t *testing.T) {
	for name, test := range map[string]struct{ written, moves bool }{
		"collected":            {},
		"collected, and moves": {moves: true},
		"written":              {written: true},
		"written, and moves":   {written: true, moves: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { deadQuestion(t, test.written, test.moves) })
		})
	}
}

func deadQuestion(t *testing.T, written, moves bool) {
	c, err := producertest.New(producertest.Config{InMemory: true, Topics: map[string]int32{"t": 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cfg := config.Default()
	cfg.BootstrapServers, cfg.Dialer, cfg.Linger = c.Addrs(), c.Dial, 0
	pr, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		pr.Abort()
		<-pr.closed
	}()
	lane, rec := pr.Lane(), Record{Topic: "t", Partition: On(0)}
	if _, err := lane.ProduceSync(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	// From here on the test is the loop of its brokers.
	var b [2]*broker
	for i := range b {
		b[i] = newBroker(pr, int32(i), pr.control.shares[0])
		b[i].addr.Store(c.Addrs()[0])
	}
	var p *partition
	lane.each(func(one *partition) { p = one })
	p.retarget(leader{b[0], 1})
	lane.Produce(t.Context(), rec, nil)
	ask(t, b[0], p, written)
	if moves {
		p.retarget(leader{b[1], 2})
		ask(t, b[1], p, true)
		return
	}
	ask(t, b[0], p, true)
}

// ask plays a connection that dies when a question is on it, or in no request yet.
func ask(t *testing.T, b *broker, p *partition, written bool) {
	t.Helper()
	l, err := b.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	b.collect(now)
	if b.todo.first() != p {
		t.Fatal("nobody looks at the partition")
	}
	if r := b.build(l, now); r != nil || len(l.asking) != 1 || l.asking[0].p != p {
		t.Fatalf("request %v, questions %v, want one", r, l.asking)
	}
	if written {
		b.ask(l, now)
	}
	l.die(io.EOF)
	l.reap()
}
