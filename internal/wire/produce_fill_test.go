package wire

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAddIsExact (K24): a request takes batches up to its limit, not a byte more
// and not a byte less.
func TestAddIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	body := make([]byte, 4000)
	eachVersion(t, func(t *testing.T, version int16) {
		r := ProduceRequest{ClientID: "sluice"}
		for _, topics := range []int{1, 3, 127, 128, 300} {
			r.Version = version
			r.Reset()
			limit, refused := 20000+rng.IntN(50000), 0
			for refused < 20 {
				p := ProducePartition{Index: rng.Int32(), Records: body[:rng.IntN(1<<rng.IntN(12))]}
				name := fmt.Sprint("topic-", rng.IntN(topics))
				id := [16]byte{1: name[len(name)-1]}
				with := withPartition(&r, name, id, p)
				added := r.Add(name, id, p, limit)
				if added != (with.Size() <= limit) {
					t.Fatalf("%d topics: Add says %v, with the batch there are %d bytes of %d", topics, added, with.Size(), limit)
				}
				if !added {
					refused++
				} else if r.Size() != with.Size() || r.frame != r.Size() {
					t.Fatalf("%d topics: %d bytes, want %d, counted %d", topics, r.Size(), with.Size(), r.frame)
				}
			}
			checkEncoding(t, &r)
		}
	})
}

// withPartition returns a copy of r with one batch more, made without Add.
func withPartition(r *ProduceRequest, name string, id [16]byte, p ProducePartition) *ProduceRequest {
	with := &ProduceRequest{Version: r.Version, ClientID: r.ClientID, Topics: slices.Clone(r.Topics)}
	at := slices.IndexFunc(with.Topics, func(t ProduceTopic) bool { return t.Name == name && t.ID == id })
	if at < 0 {
		at = len(with.Topics)
		with.Topics = append(with.Topics, ProduceTopic{Name: name, ID: id})
	}
	t := &with.Topics[at]
	t.Partitions = append(slices.Clone(t.Partitions), p)
	return with
}

// TestAddGroups: a topic stands in the request once, in whatever order its
// batches come; one that was created again is another.
func TestAddGroups(t *testing.T) {
	r := ProduceRequest{Version: 13}
	for range 2 { // the second time with the memory of the first
		r.Reset()
		for i, name := range []string{"a", "b", "a", "c", "b", "a"} {
			r.Add(name, [16]byte{name[0]}, ProducePartition{Index: int32(i)}, 1000)
		}
		r.Add("a", [16]byte{1}, ProducePartition{Index: 6}, 1000)
		r.Add("a", [16]byte{2}, ProducePartition{Index: 7}, 1000)
		var got []string
		for _, topic := range r.Topics {
			line := fmt.Sprint(topic.Name, topic.ID[0])
			for _, p := range topic.Partitions {
				line += fmt.Sprint(" ", p.Index)
			}
			got = append(got, line)
		}
		if want := []string{"a97 0 2 5", "b98 1 4", "c99 3", "a1 6", "a2 7"}; !slices.Equal(got, want) {
			t.Errorf("topics %q, want %q", got, want)
		}
	}
}

// TestAddRefusedChangesNothing: the request can be sent as it was.
func TestAddRefusedChangesNothing(t *testing.T) {
	r := ProduceRequest{Version: 9}
	if r.Add("t", [16]byte{}, ProducePartition{Records: make([]byte, 100)}, 100) || len(r.Topics) != 0 {
		t.Fatalf("100 bytes fit into 100, %d topics", len(r.Topics))
	}
	r.Add("t", [16]byte{}, ProducePartition{Records: make([]byte, 100)}, 1000)
	size := r.Size()
	if r.Add("u", [16]byte{}, ProducePartition{Records: make([]byte, 1000)}, 1000) || r.Size() != size || len(r.Topics) != 1 {
		t.Fatalf("%d topics in %d bytes", len(r.Topics), r.Size())
	}
	checkEncoding(t, &r)
}

// TestResetForgetsBatches: a request that waits for its next use holds no batch.
func TestResetForgetsBatches(t *testing.T) {
	r := ProduceRequest{Version: 9}
	for i := range 10 {
		r.Add(fmt.Sprint(i%3), [16]byte{}, ProducePartition{Records: make([]byte, 10)}, 1000)
	}
	r.Reset()
	for _, topic := range r.Topics[:3] {
		if topic.Name != "" {
			t.Errorf("name %q survived", topic.Name)
		}
		for _, p := range topic.Partitions[:cap(topic.Partitions)] {
			if p.Records != nil {
				t.Error("a batch survived")
			}
		}
	}
	if len(r.Topics) != 0 || len(r.places) != 0 {
		t.Errorf("%d topics, %d places", len(r.Topics), len(r.places))
	}
}

// TestBatchLimit (K24): the largest batch fits into a request of its own in every
// version, and it is the largest that does.
func TestBatchLimit(t *testing.T) {
	body := make([]byte, 1<<20)
	limits := []int{1000, 1 << 20}
	for i := range 100 { // where the length field of a batch gets longer
		limits = append(limits, 16<<10+i)
	}
	for _, clientID := range []string{"", "sluice", string(body[:300])} {
		for _, topic := range []string{"t", "orders-and-more", string(body[:126]), string(body[:249])} {
			for _, limit := range limits {
				most := BatchLimit(limit, clientID, topic)
				if !fitsAll(clientID, topic, body[:most], limit) {
					t.Fatalf("a batch of %d does not fit into %d in all versions", most, limit)
				}
				if fitsAll(clientID, topic, body[:most+1], limit) {
					t.Errorf("a batch of %d would fit into %d too", most+1, limit)
				}
			}
		}
	}
	if n := BatchLimit(10, "sluice", "t"); n >= 0 {
		t.Errorf("a batch of %d fits into 10", n)
	}
}

func fitsAll(clientID, topic string, records []byte, limit int) bool {
	for v := int16(MinProduceVersion); v <= MaxProduceVersion; v++ {
		r := ProduceRequest{Version: v, ClientID: clientID}
		if !r.Add(topic, [16]byte{}, ProducePartition{Records: records}, limit) {
			return false
		}
	}
	return true
}
