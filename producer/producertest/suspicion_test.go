package producertest

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// judge drives a watch by hand, so that what a connection carried is read as
// late as the test wants. Batches are of ten records, as in scenes.
type judge struct {
	t     *testing.T
	w     *watch
	peers int64
}

func (j *judge) peer(window int32) *peer {
	j.peers++
	_, server := newMemConns("client", "broker")
	p := j.w.connected(j.peers, &tap{Conn: server})
	p.window = window
	return p
}

func (j *judge) attempt(base int32) *attempt {
	return &attempt{topic: "t", id: topicID{1}, batch: parseBatch(b10(base).encode(), 12)}
}

func (j *judge) receive(p *peer, leaderEpoch int32, bases ...int32) {
	for _, base := range bases {
		j.w.received(p, j.attempt(base), leaderEpoch)
	}
}

func (j *judge) answer(p *peer, code int16, bases ...int32) {
	for _, base := range bases {
		e := kmsg.NewProduceResponseTopicPartition()
		e.ErrorCode = code
		m := kmsg.NewPtrProduceResponse()
		m.Topics = []kmsg.ProduceResponseTopic{{Topic: "t", Partitions: []kmsg.ProduceResponseTopicPartition{e}}}
		a := j.attempt(base)
		j.w.answered(p, &request{produce: &produceRequest{attempts: []attempt{*a}}}, m)
	}
}

// look is a look at a connection, taken now.
func (j *judge) look(p *peer, partial bool) { j.w.quiet(p, p.tap.wanted, partial) }

func (j *judge) want(violations, suspicions int) {
	j.t.Helper()
	if len(j.w.violations) != violations || len(j.w.suspicions) != suspicions {
		j.t.Errorf("violations %q, %d suspicions; want %d and %d", j.w.violations, len(j.w.suspicions), violations, suspicions)
	}
}

// opened is a connection with the first batch through.
func (j *judge) opened(window int32) *peer {
	p := j.peer(window)
	j.receive(p, 0, 0)
	j.answer(p, 0, 0)
	return p
}

func judged(t *testing.T, f func(j *judge)) {
	t.Helper()
	f(&judge{t: t, w: newWatch()})
}

func TestTwoConnectionsMustBothProveOpen(t *testing.T) {
	both := func(f func(j *judge, a, b *peer)) {
		judged(t, func(j *judge) {
			a := j.opened(0)
			j.receive(a, 0, 10)
			b := j.peer(0)
			j.receive(b, 1, 10)
			j.want(0, 1)
			f(j, a, b)
		})
	}
	both(func(j *judge, a, b *peer) {
		j.look(a, true) // open, though in the middle of a request
		j.want(0, 1)
		j.look(b, false)
		j.want(1, 0)
	})
	both(func(j *judge, a, b *peer) { // abandoned, as is read now
		j.look(b, false)
		j.w.ended(a, true)
		j.want(0, 0)
	})
	both(func(j *judge, a, b *peer) { // the other way round: what b carried was read late
		j.look(a, false)
		j.w.ended(b, false)
		j.want(0, 0)
	})
	both(func(j *judge, a, b *peer) { // a look from before proves nothing
		j.w.quiet(a, a.tap.wanted-1, false)
		j.look(b, false)
		j.want(0, 1)
	})
	both(func(j *judge, a, b *peer) { // once it has ended there is nothing to prove
		j.w.ended(a, true)
		j.receive(b, 1, 20)
		j.want(1, 0) // the gate
	})
}

// Batches that may have been sent on a connection that was not read to its end
// are no new ones.
func TestUnreadBatchesAreNotNew(t *testing.T) {
	replay := func(f func(j *judge, a, b *peer)) {
		judged(t, func(j *judge) {
			a := j.opened(40)
			j.receive(a, 0, 10)
			b := j.peer(10)
			j.receive(b, 1, 10)
			j.answer(b, 46, 10)
			j.want(0, 1) // I14, like those that follow, until a has ended
			j.receive(b, 1, 20, 30)
			f(j, a, b)
		})
	}
	replay(func(j *judge, a, b *peer) { // nothing is missing: 30 is new, and goes behind 20
		j.w.ended(a, true)
		j.want(1, 0)
	})
	replay(func(j *judge, a, b *peer) { // they come out of a after all
		j.receive(a, 0, 20, 30)
		j.w.ended(a, true)
		j.want(0, 0)
	})
	replay(func(j *judge, a, b *peer) { // they may have been lost with a
		j.w.ended(a, false)
		j.want(0, 0)
		j.receive(b, 1, 40)
		j.want(0, 0) // so may this one: it ends 40 beyond
		j.receive(b, 1, 50)
		j.want(2, 0) // but not this one
	})
	replay(func(j *judge, a, b *peer) { // a is open, so this is I14; but 20 may still be on its way
		j.look(b, false)
		j.look(a, true)
		j.want(3, 3)
		j.look(a, false)
		j.want(6, 0)
	})
}

// An epoch that the client cannot see, and another connection whose end is read
// late, do not close the gate.
func TestLateReadingDoesNotCloseGate(t *testing.T) {
	late := func(f func(j *judge, a, b *peer)) {
		judged(t, func(j *judge) {
			b := j.peer(0)
			a := j.opened(0)
			j.receive(b, 0, 0) // of before, read now
			j.receive(a, 1, 10, 20)
			f(j, a, b)
		})
	}
	late(func(j *judge, a, b *peer) {
		j.w.ended(b, true)
		j.want(0, 0)
	})
	late(func(j *judge, a, b *peer) { // unless it is open: then the partition really moved
		j.look(a, false)
		j.look(b, false)
		j.want(3, 0) // and was on both at once
	})
}
