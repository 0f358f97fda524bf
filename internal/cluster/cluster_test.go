package cluster

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// part is one partition of an answer.
type part struct {
	n, leader, epoch int32
	err              int16
}

// answer builds a Metadata response.
type answer struct{ kmsg.MetadataResponse }

func metadata(brokers ...int32) *answer {
	a := &answer{kmsg.MetadataResponse{Version: 12, ClusterID: kmsg.StringPtr("c1")}}
	for _, id := range brokers {
		a.broker(id, fmt.Sprintf("b%d", id), 9092)
	}
	return a
}

func (a *answer) broker(id int32, host string, port int32) *answer {
	a.Brokers = append(a.Brokers, kmsg.MetadataResponseBroker{NodeID: id, Host: host, Port: port})
	return a
}

func (a *answer) topic(name string, id byte, code int16, parts ...part) *answer {
	t := kmsg.MetadataResponseTopic{Topic: &name, TopicID: [16]byte{id}, ErrorCode: code}
	for _, p := range parts {
		t.Partitions = append(t.Partitions, kmsg.MetadataResponseTopicPartition{
			Partition: p.n, Leader: p.leader, LeaderEpoch: p.epoch, ErrorCode: p.err,
		})
	}
	a.Topics = append(a.Topics, t)
	return a
}

// merge merges and checks that s was left as it was, and that merging the same
// again changes nothing.
func merge(t *testing.T, s *Snapshot, a *answer, asked ...string) (*Snapshot, Changes) {
	t.Helper()
	before := dump(s)
	next, changes := s.Merge(&a.MetadataResponse, asked)
	if after := dump(s); after != before {
		t.Fatalf("Merge changed the old snapshot\nfrom %s\nto   %s", before, after)
	}
	check(t, s, next, changes)
	return next, changes
}

// dump writes out all of a snapshot.
func dump(s *Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %v", s.ClusterID, s.brokers)
	for _, t := range s.topics {
		fmt.Fprintf(&b, " %+v", *t)
	}
	return b.String()
}

// check holds for every snapshot that was made from was.
func check(t *testing.T, was, s *Snapshot, changes Changes) {
	t.Helper()
	for i, b := range s.brokers {
		if !b.valid() || i > 0 && s.brokers[i-1].ID >= b.ID {
			t.Fatalf("brokers %v", s.brokers)
		}
	}
	if len(s.topics) != len(s.index) {
		t.Fatalf("%d topics, %d in the index", len(s.topics), len(s.index))
	}
	for _, topic := range s.topics {
		if found, ok := s.Topic(topic.Name); !ok || found != topic {
			t.Fatalf("topic %q is not found", topic.Name)
		}
		for i, p := range topic.Partitions {
			_, _, ok := s.Leader(topic.Name, int32(i))
			if ok != (p.Leader != NoLeader) || !ok && p.Err == 0 {
				t.Fatalf("%s/%d: %+v, leader found: %v", topic.Name, i, p, ok)
			}
		}
	}
	for _, old := range was.topics {
		now, ok := s.Topic(old.Name)
		if !ok {
			t.Fatalf("topic %q is lost", old.Name)
		}
		if len(now.Partitions) < len(old.Partitions) && !slices.Contains(changes.Recreated, old.Name) {
			t.Fatalf("topic %q shrank", old.Name)
		}
	}
	if len(changes.Problems) > maxProblems {
		t.Fatalf("%d problems", len(changes.Problems))
	}
}

func wantLeader(t *testing.T, s *Snapshot, topic string, partition, leader, epoch int32) {
	t.Helper()
	b, e, ok := s.Leader(topic, partition)
	if leader == NoLeader {
		if ok {
			t.Errorf("%s/%d: led by %v, want no leader", topic, partition, b)
		}
		return
	}
	if !ok || b.ID != leader || e != epoch {
		t.Errorf("%s/%d: leader %d epoch %d (%v), want %d epoch %d", topic, partition, b.ID, e, ok, leader, epoch)
	}
}

func wantChanges(t *testing.T, got, want Changes) {
	t.Helper()
	got.Problems = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("changes %+v, want %+v", got, want)
	}
}

func TestMergeFirst(t *testing.T) {
	s, ch := merge(t, new(Snapshot), metadata(2, 1).topic("a", 7, 0, part{0, 1, 5, 0}, part{1, 2, 6, 0}), "a")
	wantChanges(t, ch, Changes{Grown: []string{"a"}})
	wantLeader(t, s, "a", 0, 1, 5)
	wantLeader(t, s, "a", 1, 2, 6)
	for _, n := range []int32{-1, 2, 1 << 30} {
		wantLeader(t, s, "a", n, NoLeader, 0)
	}
	wantLeader(t, s, "b", 0, NoLeader, 0)
	if topic, _ := s.Topic("a"); topic.ID != [16]byte{7} || topic.Err != 0 {
		t.Errorf("%+v", topic)
	}
	if b, ok := s.Broker(2); !ok || b.Addr() != "b2:9092" || s.ClusterID != "c1" {
		t.Errorf("%v %v %q", b, ok, s.ClusterID)
	}
	if _, ok := s.Broker(3); ok || len(s.Brokers()) != 2 {
		t.Error(s.Brokers())
	}
}

func TestMergeOfNothingNew(t *testing.T) {
	a := metadata(1, 2).topic("a", 7, 0, part{0, 1, 5, 0}).topic("b", 8, 29)
	s, _ := merge(t, new(Snapshot), a, "a", "b")
	again, ch := merge(t, s, a, "a", "b")
	if again != s {
		t.Error("the same answer made another snapshot")
	}
	wantChanges(t, ch, Changes{})
}

// KIP-320: a leader epoch never goes back, whoever says so.
func TestOlderEpochIsIgnored(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1, 2, 3).topic("a", 7, 0, part{0, 1, 5, 0}), "a")
	s, ch := merge(t, s, metadata(1, 2, 3).topic("a", 7, 0, part{0, 2, 4, 0}), "a")
	wantLeader(t, s, "a", 0, 1, 5)
	wantChanges(t, ch, Changes{})
	s, ch = merge(t, s, metadata(1, 2, 3).topic("a", 7, 0, part{0, 3, 6, 0}), "a")
	wantLeader(t, s, "a", 0, 3, 6)
	wantChanges(t, ch, Changes{Moved: []TopicPartition{{"a", 0}}})
	s, _ = merge(t, s, metadata(1, 2, 3).topic("a", 7, 0, part{0, -1, 7, 5}), "a")
	wantLeader(t, s, "a", 0, NoLeader, 7)
	s, _ = merge(t, s, metadata(1, 2, 3).topic("a", 7, 0, part{0, 2, 7, 0}), "a")
	wantLeader(t, s, "a", 0, 2, 7)
}

// One absurd epoch must not cut a partition off for ever; answers that go on
// contradicting it are believed in the end.
func TestOlderEpochIsBelievedInTheEnd(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1, 2).topic("a", 7, 0, part{0, 2, 1 << 30, 0}), "a")
	newer := metadata(1, 2).topic("a", 7, 0, part{0, 2, 1 << 30, 0})
	older := metadata(1, 2).topic("a", 7, 0, part{0, 1, 6, 0})
	for range maxOlder - 1 {
		s, _ = merge(t, s, older, "a")
		wantLeader(t, s, "a", 0, 2, 1<<30)
	}
	s, _ = merge(t, s, newer, "a") // confirmed: the count begins anew
	for range maxOlder - 1 {
		s, _ = merge(t, s, older, "a")
		wantLeader(t, s, "a", 0, 2, 1<<30)
	}
	s, _ = merge(t, s, older, "a")
	wantLeader(t, s, "a", 0, 1, 6)
}

// Brokers before Kafka 2.1 do not know epochs: the last answer counts.
func TestWithoutEpochs(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1, 2).topic("a", 0, 0, part{0, 1, -1, 0}), "a")
	s, ch := merge(t, s, metadata(1, 2).topic("a", 0, 0, part{0, 2, -1, 0}), "a")
	wantLeader(t, s, "a", 0, 2, -1)
	wantChanges(t, ch, Changes{Moved: []TopicPartition{{"a", 0}}})
}

// K36: a new id is a new topic, whose epochs and partitions begin anew.
func TestRecreated(t *testing.T) {
	first := metadata(1).topic("a", 7, 0, part{0, 1, 100, 0}, part{1, 1, 100, 0}, part{2, 1, 100, 0})
	s, _ := merge(t, new(Snapshot), first, "a")
	s, ch := merge(t, s, metadata(1).topic("a", 0, 3), "a")
	wantLeader(t, s, "a", 2, 1, 100) // not listed for a moment: nothing is forgotten
	wantChanges(t, ch, Changes{})
	s, ch = merge(t, s, metadata(1).topic("a", 8, 0, part{0, 1, 0, 0}), "a")
	wantChanges(t, ch, Changes{Recreated: []string{"a"}, Grown: []string{"a"}})
	wantLeader(t, s, "a", 0, 1, 0)
	wantLeader(t, s, "a", 1, NoLeader, 0)

	// A broker that is behind still has the former one. That is not a third.
	s, ch = merge(t, s, first, "a")
	wantChanges(t, ch, Changes{Missing: []string{"a"}})
	if len(ch.Problems) != 1 {
		t.Errorf("problems %q", ch.Problems)
	}
	if topic, _ := s.Topic("a"); topic.ID != [16]byte{8} || len(topic.Partitions) != 1 {
		t.Errorf("%+v", topic)
	}
	_, ch = merge(t, s, metadata(1).topic("a", 9, 0, part{0, 1, 0, 0}), "a")
	wantChanges(t, ch, Changes{Recreated: []string{"a"}, Grown: []string{"a"}})
}

// An id that becomes known, or is left out by an older broker of a cluster in
// the middle of an upgrade, is not another topic.
func TestIDComesAndGoes(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1).topic("a", 0, 0, part{0, 1, 5, 0}), "a")
	for _, id := range []byte{7, 0, 7} {
		var ch Changes
		s, ch = merge(t, s, metadata(1).topic("a", id, 0, part{0, 1, 5, 0}), "a")
		wantChanges(t, ch, Changes{})
		if topic, _ := s.Topic("a"); topic.ID != [16]byte{7} {
			t.Errorf("id %v", topic.ID)
		}
	}
}

// K36 without ids: after "no such topic" lower epochs are believed.
func TestRecreatedWithoutIDs(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1, 2).topic("a", 0, 0, part{0, 1, 100, 0}), "a")
	s, _ = merge(t, s, metadata(1, 2).topic("a", 0, 5), "a")
	wantLeader(t, s, "a", 0, 1, 100)
	s, _ = merge(t, s, metadata(1, 2).topic("a", 0, 3), "a")
	wantLeader(t, s, "a", 0, 1, -1)
	s, _ = merge(t, s, metadata(1, 2).topic("a", 0, 0, part{0, 2, 0, 0}), "a")
	wantLeader(t, s, "a", 0, 2, 0)
}

// K42: what an answer leaves out stays.
func TestOmissionsChangeNothing(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1, 2, 3).topic("a", 7, 0, part{0, 1, 5, 0}, part{1, 1, 5, 0}, part{2, 2, 5, 0}).topic("b", 8, 0, part{0, 1, 1, 0}), "a", "b")
	for name, a := range map[string]*answer{
		"a partition": metadata(1, 2, 3).topic("a", 7, 0, part{0, 1, 5, 0}, part{1, 1, 5, 0}),
		"all of them": metadata(1, 2, 3).topic("a", 7, 0),
		"the topic":   metadata(1, 2, 3),
		"everything":  metadata(),
	} {
		next, ch := merge(t, s, a, "a")
		if next != s || ch.Moved != nil || ch.Recreated != nil {
			t.Errorf("%s left out: %+v", name, ch)
		}
		if missing := len(a.Topics) == 0; missing != slices.Equal(ch.Missing, []string{"a"}) {
			t.Errorf("%s left out: missing %q", name, ch.Missing)
		}
	}
	if _, ch := merge(t, s, metadata(), "b", "a", "b"); !slices.Equal(ch.Missing, []string{"b", "a"}) {
		t.Errorf("missing %q", ch.Missing)
	}
}

// An error is noted next to what is known, and goes with the next good answer.
func TestTopicErrors(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1).topic("a", 0, 29), "a")
	if topic, ok := s.Topic("a"); !ok || topic.Err != 29 || len(topic.Partitions) != 0 {
		t.Errorf("%+v", topic)
	}
	s, _ = merge(t, s, metadata(1).topic("a", 7, 0, part{0, 1, 5, 0}), "a")
	for _, code := range []int16{3, 5, 29, -1} {
		s, _ = merge(t, s, metadata(1).topic("a", 0, code), "a")
		if topic, _ := s.Topic("a"); topic.Err != code {
			t.Errorf("%+v", topic)
		}
		wantLeader(t, s, "a", 0, 1, 5)
	}
	s, _ = merge(t, s, metadata(1).topic("a", 7, 0, part{0, 1, 5, 0}), "a")
	if topic, _ := s.Topic("a"); topic.Err != 0 {
		t.Errorf("%+v", topic)
	}
}

// K64: partitions are added.
func TestGrows(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1).topic("a", 7, 0, part{0, 1, 5, 0}), "a")
	s, ch := merge(t, s, metadata(1).topic("a", 7, 0, part{1, 1, 0, 0}, part{0, 1, 5, 0}), "a")
	wantChanges(t, ch, Changes{Grown: []string{"a"}})
	wantLeader(t, s, "a", 1, 1, 0)
}

// A gap is a partition that is there and not known yet.
func TestGap(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1).topic("a", 7, 0, part{0, 1, 5, 0}, part{3, 1, 5, 0}), "a")
	topic, _ := s.Topic("a")
	if len(topic.Partitions) != 4 || topic.Partitions[1].Err == 0 {
		t.Fatalf("%+v", topic)
	}
	wantLeader(t, s, "a", 1, NoLeader, 0)
	wantLeader(t, s, "a", 3, 1, 5)
}

func TestOnlyWhatWasAskedFor(t *testing.T) {
	a := metadata(1).topic("stranger", 7, 0, part{0, 1, 5, 0}).topic("a", 8, 0, part{0, 1, 5, 0})
	a.Topics = append(a.Topics, kmsg.MetadataResponseTopic{TopicID: [16]byte{9}}) // no name
	s, ch := merge(t, new(Snapshot), a, "a")
	wantChanges(t, ch, Changes{Grown: []string{"a"}})
	if _, ok := s.Topic("stranger"); ok || len(s.topics) != 1 {
		t.Error("a topic was taken that nobody asked for")
	}
	if s, _ = merge(t, new(Snapshot), a); len(s.topics) != 0 || len(s.brokers) != 1 {
		t.Error("asked for brokers only")
	}
}

// A broker that still leads is kept, although an answer does not list it.
func TestLeadersStayInTheList(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1, 2, 3).topic("a", 7, 0, part{0, 1, 5, 0}, part{1, 2, 5, 0}), "a")
	s, _ = merge(t, s, metadata(2), "a")
	if got := s.Brokers(); len(got) != 2 || got[0].ID != 1 || got[1].ID != 2 {
		t.Errorf("brokers %v", got)
	}
	wantLeader(t, s, "a", 0, 1, 5)
	s, _ = merge(t, s, metadata(2).topic("a", 7, 0, part{0, 2, 6, 0}), "a")
	if got := s.Brokers(); len(got) != 1 {
		t.Errorf("brokers %v", got)
	}
}

// K55: an id that moved is dialled at its new address.
func TestReaddressed(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1, 2, 3))
	s, ch := merge(t, s, metadata(3).broker(1, "elsewhere", 9092).broker(2, "b2", 9093))
	wantChanges(t, ch, Changes{Readdressed: []int32{1, 2}})
	if b, _ := s.Broker(1); b.Addr() != "elsewhere:9092" {
		t.Error(b)
	}
}

// An address given to somebody else's broker must not lead producers there.
func TestOtherCluster(t *testing.T) {
	s, _ := merge(t, new(Snapshot), metadata(1).topic("a", 7, 0, part{0, 1, 5, 0}), "a")
	other := metadata(9).topic("a", 8, 0, part{0, 9, 50, 0})
	other.ClusterID = kmsg.StringPtr("c2")
	next, ch := merge(t, s, other, "a")
	wantChanges(t, ch, Changes{OtherCluster: true})
	if next != s {
		t.Error("something was taken over")
	}
	for _, id := range []*string{nil, kmsg.StringPtr(""), kmsg.StringPtr(strings.Repeat("x", 300))} {
		other.ClusterID = id
		if next, _ = merge(t, s, other, "a"); next.ClusterID != "c1" {
			t.Errorf("cluster %q", next.ClusterID)
		}
	}
}

func TestAbsurdClusterID(t *testing.T) {
	a := metadata(1)
	a.ClusterID = kmsg.StringPtr(strings.Repeat("x", maxClusterID+1))
	if s, _ := merge(t, new(Snapshot), a); s.ClusterID != "" {
		t.Errorf("%d bytes of cluster id", len(s.ClusterID))
	}
}

func TestAddr(t *testing.T) {
	for want, b := range map[string]Broker{
		"host:1": {Host: "host", Port: 1}, "10.0.0.1:9092": {Host: "10.0.0.1", Port: 9092}, "[fe80::1%eth0]:9092": {Host: "fe80::1%eth0", Port: 9092},
	} {
		if got := b.Addr(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
