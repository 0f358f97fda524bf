package realkafka

import (
	"net"
	"strconv"
	"testing"
	"time"
)

// What takes three nodes: a partition with a leader, a follower, and a node
// that holds no replica of it.

func TestDescribeProducersWhereverItIsAsked(t *testing.T) {
	c := three.Get(t)
	l := newLog(t, c, 2, nil)
	id := newProducer(t, c)
	l.fill(id, 3, 2)
	place := l.place()
	for node, want := range map[int]struct {
		last int32
		code int16
	}{
		place.leader:   {5, none},
		place.follower: {5, none},
		place.outsider: {-1, notLeader},
	} {
		if last, code := l.describe(node, id); last != want.last || code != want.code {
			t.Errorf("node %d: last sequence %d, code %d; want %+v of %+v", node, last, code, want, place)
		}
	}
}

func TestProduceToFollower(t *testing.T) {
	c := three.Get(t)
	l := newLog(t, c, 2, nil)
	place := l.place()
	l = l.at(place.follower)
	l.write(batch{producer: newProducer(t, c), count: 1})
	resp := l.answer()
	p := resp.Topics[0].Partitions[0]
	if got := (verdict{p.ErrorCode, p.BaseOffset}); got != refused(notLeader) {
		t.Errorf("got %v", got)
	}
	if hint := p.CurrentLeader; int(hint.LeaderID) != place.leader || hint.LeaderEpoch != place.epoch {
		t.Errorf("hint %+v, the leader is %+v", hint, place)
	}
	if len(resp.Brokers) != 1 {
		t.Fatalf("%d endpoints, want 1", len(resp.Brokers))
	}
	b := resp.Brokers[0]
	addr := net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	if int(b.NodeID) != place.leader || addr != c.Addrs()[place.leader] {
		t.Errorf("endpoint of node %d is %s, want that of %d, %s", b.NodeID, addr, place.leader, c.Addrs()[place.leader])
	}
}

// asleep returns a log that holds one committed record and whose follower
// sleeps, with requests to it timing out after half a second.
func asleep(t *testing.T) (l *log, id int64, place placement) {
	t.Helper()
	c := three.Get(t)
	l = newLog(t, c, 2, nil)
	id = newProducer(t, c)
	l.fill(id, 1, 1)
	// A follower that is not in sync is not waited for.
	eventually(t, func() bool {
		place = l.place()
		return place.inSync == 2
	})
	check(t, c.Pause(place.follower))
	t.Cleanup(func() { check(t, c.Resume(place.follower)) })
	l.timeout = 500 * time.Millisecond
	return l, id, place
}

func TestFollowerAsleep(t *testing.T) {
	l, id, place := asleep(t)
	b := batch{producer: id, first: 1, count: 1}
	timedOut := verdict{requestTimedOut, 1}
	l.expect(timedOut, b)
	l.expect(timedOut, b) // the duplicate waits for replication as well
	if last, code := l.describe(place.leader, id); last != 1 || code != none {
		t.Errorf("DescribeProducers: last sequence %d, code %d; want 1 though it is not replicated", last, code)
	}
	check(t, l.cluster.Resume(place.follower))
	l.timeout = produceTimeout
	l.expect(appended(1), b)
}

// A broker serves one request of a connection at a time, replication wait
// included: two that time out take twice as long.
func TestSecondRequestWaitsForTheFirst(t *testing.T) {
	l, id, _ := asleep(t)
	start := time.Now()
	l.write(batch{producer: id, first: 1, count: 1}, batch{producer: id, first: 2, count: 1})
	l.expectAnswers(verdict{requestTimedOut, 1}, verdict{requestTimedOut, 2})
	const tick = 10 * time.Millisecond // of the broker's timer
	if took := time.Since(start); took < 2*(l.timeout-tick) {
		t.Errorf("both answered after %v, want twice %v", took, l.timeout)
	}
}
