package cluster

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestHostileBrokers(t *testing.T) {
	a := metadata(1).
		broker(2, "", 9092).
		broker(3, strings.Repeat("x", 256), 9092).
		broker(4, "a\nlevel=error msg=forged", 9092).
		broker(5, "a b", 9092).
		broker(6, "user@host", 9092).
		broker(7, "b7", 0).
		broker(8, "b8", 65536).
		broker(9, "b9", -1).
		broker(-1, "b", 9092).
		broker(1, "second", 9092).
		broker(10, "fe80::1%eth0", 65535).
		broker(11, "a\xff", 1)
	s, ch := merge(t, new(Snapshot), a)
	if got := s.Brokers(); len(got) != 2 || got[0].Host != "b1" || got[1].ID != 10 {
		t.Errorf("brokers %v", got)
	}
	if len(ch.Problems) != maxProblems {
		t.Errorf("%d problems", len(ch.Problems))
	}
	for _, p := range ch.Problems {
		if len(p) > 600 || strings.ContainsAny(p, "\n\xff") {
			t.Errorf("problem %q", p)
		}
	}
	many := metadata()
	for i := range int32(2 * maxBrokers) {
		many.broker(i, "b", 1)
	}
	if s, _ = merge(t, new(Snapshot), many); len(s.Brokers()) != maxBrokers {
		t.Errorf("%d brokers", len(s.Brokers()))
	}
}

// A broken address for a known id is no reason to forget the good one.
func TestKnownAddressSurvives(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1, 2).topic("a", 7, 0, part{0, 1, 5, 0}), "a")
	s, ch := merge(t, s, metadata(2).broker(1, "", 0).topic("a", 7, 0, part{0, 1, 6, 0}), "a")
	wantLeader(t, s, "a", 0, 1, 6)
	if b, _ := s.Broker(1); b.Addr() != "b1:9092" || ch.Readdressed != nil {
		t.Errorf("%v, %+v", b, ch)
	}
}

func TestHostilePartitions(t *testing.T) {
	s, ch := merge(t, new(Snapshot), metadata(1, 2).topic("a", 7, 0,
		part{0, 1, 5, 0},
		part{0, 2, 9, 0},       // a second time
		part{-1, 1, 5, 0},      // not a number of a partition
		part{1 << 30, 1, 5, 0}, // far away
		part{14, 1, 5, 0},      // one too far away
		part{2, 77, 5, 0},      // a leader that is not there
		part{1, -9, 5, 0},      // nobody
	), "a")
	topic, _ := s.Topic("a")
	if len(topic.Partitions) != 3 {
		t.Fatalf("%d partitions", len(topic.Partitions))
	}
	wantLeader(t, s, "a", 0, 1, 5)
	wantLeader(t, s, "a", 1, NoLeader, 0)
	wantLeader(t, s, "a", 2, NoLeader, 0)
	if len(ch.Problems) != 4 {
		t.Errorf("problems %q", ch.Problems)
	}
	// The leader turns up.
	s, _ = merge(t, s, metadata(1, 2, 77).topic("a", 7, 0, part{2, 77, 5, 0}), "a")
	wantLeader(t, s, "a", 2, 77, 5)
}

// Memory follows what was sent, not what was said.
func TestOneFarPartitionIsCheap(t *testing.T) {
	s := new(Snapshot)
	for _, n := range []int32{maxPartitions - 1, maxPartitions, 1<<31 - 1} {
		s, _ = merge(t, s, metadata(1).topic("a", 7, 0, part{n, 1, 5, 0}), "a")
	}
	if topic, _ := s.Topic("a"); len(topic.Partitions) > 2 {
		t.Errorf("%d partitions", len(topic.Partitions))
	}
}

func TestTopicTwice(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1).topic("a", 7, 0, part{0, 1, 5, 0}).topic("a", 8, 0, part{0, 1, 9, 0}), "a")
	wantLeader(t, s, "a", 0, 1, 5)
}

// Any sequence of any responses: no panic, no snapshot that breaks a rule, no
// change to one that was handed out.
func FuzzMerge(f *testing.F) {
	for _, a := range []*answer{
		metadata(1, 2).topic("a", 7, 0, part{0, 1, 5, 0}, part{1, 2, 5, 0}),
		metadata(1).topic("a", 8, 0, part{0, 1, 0, 0}).topic("b", 0, 3),
		metadata(2).broker(1, "x", 1).topic("b", 0, 0, part{2, 1, -1, 5}),
		metadata(),
	} {
		a.Version = 12
		f.Add(a.AppendTo(nil), a.AppendTo(nil), int32(0), int32(1), int32(6))
	}
	f.Fuzz(func(t *testing.T, first, second []byte, partition, leader, epoch int32) {
		s := new(Snapshot)
		for _, body := range [][]byte{first, second, first} {
			var resp kmsg.MetadataResponse
			resp.Version = 12
			if resp.ReadFrom(body) != nil {
				continue
			}
			s, _ = merge(t, s, &answer{resp}, "a", "b", "")
			before := dump(s)
			next, ok := s.Hint(LeaderHint{
				Topic: "a", Partition: partition, Leader: leader, LeaderEpoch: epoch, Endpoint: &Broker{ID: leader, Host: string(body), Port: partition},
			})
			check(t, s, next, Changes{})
			if dump(s) != before || ok != (next != s) {
				t.Fatal("Hint changed the old snapshot")
			}
			s = next
		}
	})
}
