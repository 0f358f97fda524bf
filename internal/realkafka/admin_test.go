package realkafka

import (
	"strings"
	"testing"
)

func TestMoveLeader(t *testing.T) {
	c := three.Get(t)
	l := newLog(t, c, 2, nil)
	place := l.place()
	for _, node := range []int{place.follower, place.follower, place.leader} {
		check(t, c.MoveLeader(l.topic, l.partition, node))
		leaders, err := c.Leaders(l.topic)
		check(t, err)
		if len(leaders) != 1 || leaders[l.partition] != node {
			t.Errorf("leaders %v, want node %d", leaders, node)
		}
	}
	if epoch := l.place().epoch; epoch != place.epoch+2 {
		t.Errorf("leader epoch %d after two moves from %d", epoch, place.epoch)
	}
}

// Leaders asks a node that can answer.
func TestLeadersWhileNodesSleep(t *testing.T) {
	c := three.Get(t)
	l := newLog(t, c, 3, nil)
	for _, node := range []int{0, 1} {
		check(t, c.Pause(node))
		t.Cleanup(func() { check(t, c.Resume(node)) })
	}
	if _, err := c.Leaders(l.topic); err != nil {
		t.Error(err)
	}
}

func TestProducersAreCounted(t *testing.T) {
	c := three.Get(t)
	l := newLog(t, c, 2, nil)
	for want := range 3 {
		n, err := c.Producers(l.topic, l.partition)
		check(t, err)
		if n != want {
			t.Errorf("%d producers, want %d", n, want)
		}
		at := l.place().leader
		l.at(at).expect(appended(int64(want)), batch{producer: newProducer(t, c), count: 1})
	}
}

func TestSetProperty(t *testing.T) {
	c := three.Get(t)
	l := newLog(t, c, 1, nil)
	id := newProducer(t, c)
	big := batch{producer: id, count: 1, value: strings.Repeat("x", 10_000)}
	check(t, c.SetProperty("message.max.bytes", "5000"))
	eventually(t, func() bool {
		l.write(big)
		v := l.answers(1)[0]
		big.first++ // if it was appended
		return v == refused(messageTooLarge)
	})
	check(t, c.SetProperty("message.max.bytes", "1000000"))
	big.first--
	eventually(t, func() bool {
		l.write(big)
		return l.answers(1)[0].code == none
	})
}
