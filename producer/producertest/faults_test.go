package producertest

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// faulty starts a cluster with topic t of one partition, where the nth Produce
// attempt, from 0, meets the nth fault.
func faulty(t *testing.T, cfg Config, faults ...Fault) (*Cluster, *client) {
	t.Helper()
	cfg.Topics = map[string]int32{"t": 1}
	c := start(t, cfg)
	n := 0
	c.OnProduce(func(ProduceAttempt) Fault {
		n++
		if n > len(faults) {
			return Fault{}
		}
		return faults[n-1]
	})
	return c, connect(t, c, 0)
}

func TestFaultAnswers(t *testing.T) {
	one := seq{7, 0, 0, 1, "v"}
	for name, test := range map[string]struct {
		fault  Fault
		want   answer
		inLog  int
		resend answer
	}{
		"none":                     {Fault{}, answer{0, 0}, 1, answer{0, 0}},
		"refused":                  {Refuse(19), answer{19, -1}, 0, answer{0, 0}},
		"appended, then an error":  {AppendThen(20), answer{20, 0}, 1, answer{0, 0}},
		"duplicate, not there":     {Refuse(46), answer{46, -1}, 0, answer{0, 0}},
		"duplicate, there":         {AppendThen(46).NoOffset(), answer{46, -1}, 1, answer{0, 0}},
		"success without offset":   {Fault{}.NoOffset(), answer{0, -1}, 1, answer{0, 0}},
		"named twice, first right": {Fault{}.Double(6), answer{0, 0}, 1, answer{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			c, r := faulty(t, Config{}, test.fault)
			want(t, "answer", r.produce(one), test.want)
			want(t, "in the log", len(c.Log("t", 0)), test.inLog)
			want(t, "resent", r.produce(one), test.resend)
			want(t, "in the log", len(c.Log("t", 0)), 1)
		})
	}
}

// What the rules refuse stays refused: AppendThen cannot append it.
func TestAppendThenIsJudged(t *testing.T) {
	_, r := faulty(t, Config{}, Fault{}, AppendThen(7), AppendThen(7))
	r.produce(seq{7, 0, 0, 1, "v"})
	want(t, "a gap", r.produce(seq{7, 0, 5, 1, "v"}), answer{45, -1})
	want(t, "a duplicate", r.produce(seq{7, 0, 0, 1, "v"}), answer{7, 0})
}

func TestFaultShapes(t *testing.T) {
	one := seq{7, 0, 0, 2, "v"}
	_, r := faulty(t, Config{Brokers: 2},
		Fault{}.Omit(), Refuse(6).Double(0), Fault{}.Foreign(), Refuse(6).Hint(1, 5), Refuse(6).Hint(77, 5),
		Refuse(87).BadRecords("no key", 1), Refuse(6))
	next := func() *kmsg.ProduceResponse { return r.ask(one.on("t", 0)).(*kmsg.ProduceResponse) }

	want(t, "omitted", len(next().Topics[0].Partitions), 0)
	p := next().Topics[0].Partitions
	want(t, "doubled", len(p), 2)
	want(t, "first", p[0].ErrorCode, 6)
	want(t, "second", p[1].ErrorCode, 0)
	want(t, "strangers", len(next().Topics), 2)
	m := next()
	want(t, "hint", m.Topics[0].Partitions[0].CurrentLeader.LeaderID, 1)
	want(t, "hint epoch", m.Topics[0].Partitions[0].CurrentLeader.LeaderEpoch, 5)
	want(t, "endpoint", m.Brokers[0].NodeID, 1)
	m = next()
	want(t, "hint at nobody", m.Topics[0].Partitions[0].CurrentLeader.LeaderID, 77)
	want(t, "endpoints", len(m.Brokers), 0)
	e := next().Topics[0].Partitions[0]
	want(t, "bad record", e.ErrorRecords[0].RelativeOffset, 1)
	want(t, "message", *e.ErrorMessage, "no key")
	want(t, "no hint by itself", next().Topics[0].Partitions[0].CurrentLeader.LeaderID, -1)
}

func TestDropExecutes(t *testing.T) {
	c, r := faulty(t, Config{}, Drop())
	r.send(seq{7, 0, 0, 1, "v"}.on("t", 0))
	if err := r.end(); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
	want(t, "in the log", len(c.Log("t", 0)), 1)
}

func TestCutDoesNotExecute(t *testing.T) {
	c, r := faulty(t, Config{}, Cut())
	r.send(seq{7, 0, 0, 1, "v"}.on("t", 0))
	if r.end() == nil {
		t.Error("the connection lives")
	}
	want(t, "in the log", len(c.Log("t", 0)), 0)
}

// One partition's Cut, Drop or Hold is the whole request's.
func TestRequestFaultsCoverAllPartitions(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 2}})
	c.OnProduce(func(a ProduceAttempt) Fault {
		if a.Partition == 1 {
			return Cut()
		}
		return Fault{}
	})
	r := connect(t, c, 0)
	q := seq{7, 0, 0, 1, "v"}.on("t", 0)
	addPartition(q, "t", 1, seq{7, 0, 0, 1, "v"}.encode())
	r.send(q)
	if r.end() == nil {
		t.Error("the connection lives")
	}
	want(t, "in the log", len(c.Log("t", 0))+len(c.Log("t", 1)), 0)
}

func TestHold(t *testing.T) {
	release := make(chan struct{})
	c := start(t, Config{Topics: map[string]int32{"t": 1}})
	c.OnProduce(func(a ProduceAttempt) Fault {
		if a.ProducerID == 7 && a.BaseSequence == 0 {
			return Hold(release)
		}
		return Fault{}
	})
	r := connect(t, c, 0)
	r.send(seq{7, 0, 0, 1, "a"}.on("t", 0))
	r.send(seq{7, 0, 1, 1, "b"}.on("t", 0))
	other := connect(t, c, 0)
	want(t, "another connection goes on", other.produce(seq{8, 0, 0, 1, "c"}), answer{0, 0})
	close(release)
	want(t, "held", r.produced(), answer{0, 1})
	want(t, "behind", r.produced(), answer{0, 2})
}

// A request in work is finished, even if its connection is gone; those behind
// it are lost.
func TestHeldRequestOutlivesConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c, r := faulty(t, Config{InMemory: true}, Hold(release))
		r.send(seq{7, 0, 0, 1, "a"}.on("t", 0))
		r.send(seq{7, 0, 1, 1, "b"}.on("t", 0))
		synctest.Wait()
		if err := c.CutConnections(0); err != nil {
			t.Fatal(err)
		}
		if r.end() == nil {
			t.Error("the connection lives")
		}
		want(t, "before the release", len(c.Log("t", 0)), 0)
		close(release)
		synctest.Wait()
		want(t, "after it", len(c.Log("t", 0)), 1)
		c.Close()
	})
}

func TestStragglers(t *testing.T) {
	release := make(chan struct{})
	c := start(t, Config{Topics: map[string]int32{"t": 1}, InMemory: true})
	served := make(chan int32, 9)
	c.OnProduce(func(a ProduceAttempt) Fault {
		defer func() { served <- a.BaseSequence }()
		switch {
		case a.Connection > 1:
			return Fault{}
		case a.BaseSequence == 0:
			return Straggle(release)
		case a.BaseSequence == 2:
			return Cut()
		}
		return Fault{}
	})
	r := connect(t, c, 0)
	var all []kmsg.Request
	for i := range int32(4) {
		all = append(all, seq{7, 0, i, 1, "v"}.on("t", 0))
	}
	r.send(all...)
	if r.end() == nil {
		t.Error("the connection lives")
	}
	other := connect(t, c, 0)
	want(t, "first served", <-served, 0)
	want(t, "before the stragglers", other.produce(seq{8, 0, 0, 1, "v"}), answer{0, 0})
	<-served
	close(release)
	want(t, "second served", <-served, 1)
	want(t, "third served", <-served, 2) // which ends the train
	want(t, "resent", other.produce(seq{7, 0, 0, 1, "v"}), answer{0, 1})
	want(t, "resent", other.produce(seq{7, 0, 1, 1, "v"}), answer{0, 2})
	want(t, "lost", other.produce(seq{7, 0, 2, 1, "v"}), answer{0, 3})
}

func TestCloseEndsWhatIsHeld(t *testing.T) {
	c, r := faulty(t, Config{}, Hold(nil))
	r.send(seq{7, 0, 0, 1, "v"}.on("t", 0))
	c.Close()
	want(t, "in the log", len(c.Log("t", 0)), 0)
}

func TestProduceAttempt(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 2}})
	var seen []ProduceAttempt
	c.OnProduce(func(a ProduceAttempt) Fault {
		seen = append(seen, a)
		return Fault{}
	})
	r := connect(t, c, 0)
	s := seq{7, 3, 0, 2, "v"}
	r.produce(s)
	r.send(s.on("t", 0))
	r.produced()
	r.send(seq{-1, -1, -1, 2, "v"}.on("t", 1))
	r.produced()
	c.OnProduce(nil)
	first := ProduceAttempt{
		Topic: "t", Acks: -1, Version: 12, ProducerID: 7, ProducerEpoch: 3,
		Records: 2, Bytes: len(s.encode()), Connection: 1, Request: 1, Attempt: 1,
	}
	want(t, "first", seen[0], first)
	first.Request, first.Attempt = 2, 2
	want(t, "second", seen[1], first)
	want(t, "first time", seen[1].FirstTime(), false)
	want(t, "not idempotent", seen[2].ProducerID, -1)
	want(t, "partition", seen[2].Partition, 1)
	want(t, "first time", seen[2].FirstTime(), true)
}

func TestStopAndStart(t *testing.T) {
	for _, memory := range []bool{false, true} {
		c := start(t, Config{Topics: map[string]int32{"t": 1}, InMemory: memory})
		r := connect(t, c, 0)
		if err := c.Stop(0); err != nil {
			t.Fatal(err)
		}
		if r.end() == nil {
			t.Error("the connection lives")
		}
		conn, err := c.Dial(t.Context(), "tcp", c.Addrs()[0])
		if err == nil { // a socket that is reset at once
			down := &client{t: t, conn: conn}
			if down.end() == nil {
				t.Error("a stopped broker talks")
			}
			conn.Close()
		}
		if memory && err == nil {
			t.Error("a stopped broker takes a connection")
		}
		if err := c.Start(0); err != nil {
			t.Fatal(err)
		}
		want(t, "started", connect(t, c, 0).produce(seq{7, 0, 0, 1, "v"}), answer{0, 0})
	}
}
