package wire

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// asKmsg encodes the request with another code base.
func asKmsg(r *ProduceRequest) []byte {
	k := kmsg.NewPtrProduceRequest()
	k.Version, k.Acks, k.TimeoutMillis = r.Version, r.Acks, r.TimeoutMillis
	for _, t := range r.Topics {
		kt := kmsg.ProduceRequestTopic{Topic: t.Name, TopicID: t.ID}
		for _, p := range t.Partitions {
			kt.Partitions = append(kt.Partitions, kmsg.ProduceRequestTopicPartition{Partition: p.Index, Records: p.Records})
		}
		k.Topics = append(k.Topics, kt)
	}
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(r.ClientID)).AppendRequest(nil, k, r.CorrelationID)
}

// checkEncoding compares a request with what kmsg makes of it.
func checkEncoding(t *testing.T, r *ProduceRequest) {
	t.Helper()
	_, vec := r.AppendTo(nil, nil)
	got, want := bytes.Join(vec, nil), asKmsg(r)
	if !bytes.Equal(got, want) {
		t.Fatalf("version %d: encoded\n%x, want\n%x", r.Version, got, want)
	}
	if r.Size() != len(want) {
		t.Fatalf("version %d: Size %d of %d bytes", r.Version, r.Size(), len(want))
	}
}

func eachVersion(t *testing.T, test func(t *testing.T, version int16)) {
	for v := int16(MinProduceVersion); v <= MaxProduceVersion; v++ {
		t.Run(fmt.Sprintf("v%d", v), func(t *testing.T) { test(t, v) })
	}
}

func TestVersions(t *testing.T) {
	if k := kmsg.NewPtrProduceRequest(); k.MaxVersion() < MaxProduceVersion || k.Key() != produceKey {
		t.Errorf("kmsg knows Produce as key %d up to version %d", k.Key(), k.MaxVersion())
	}
}

func TestEncodingAsKmsg(t *testing.T) {
	large := bytes.Repeat([]byte("record"), 5000)
	requests := map[string]ProduceRequest{
		"empty":     {},
		"no topics": {ClientID: "c", Topics: []ProduceTopic{}},
		"no partitions": {ClientID: "c", Acks: 1, Topics: []ProduceTopic{
			{Name: "nil"}, {Name: "empty", Partitions: []ProducePartition{}}, {},
		}},
		"null and empty batches": {ClientID: "c", Acks: -1, Topics: []ProduceTopic{
			{Name: "t", Partitions: []ProducePartition{{Index: 0}, {Index: 1, Records: []byte{}}, {Index: 2, Records: []byte{1}}}},
		}},
		"extremes": {
			CorrelationID: math.MinInt32, TimeoutMillis: math.MaxInt32, Acks: math.MinInt16,
			ClientID: string(make([]byte, math.MaxInt16)),
			Topics: []ProduceTopic{{
				Name: string(bytes.Repeat([]byte("t"), 249)), ID: [16]byte{0: 1, 15: 255},
				Partitions: []ProducePartition{{Index: math.MaxInt32, Records: large}, {Index: math.MinInt32}},
			}},
		},
		"large and small": {ClientID: "sluice", CorrelationID: 7, Acks: -1, TimeoutMillis: 30000, Topics: []ProduceTopic{
			{Name: "a", Partitions: []ProducePartition{{Records: large}, {Index: 1, Records: large[:10]}, {Index: 2, Records: large}}},
			{Name: "b", Partitions: []ProducePartition{{Records: large[:copyBelow]}, {Records: large[:copyBelow-1]}}},
		}},
	}
	eachVersion(t, func(t *testing.T, version int16) {
		for name, r := range requests {
			t.Run(name, func(t *testing.T) {
				r.Version = version
				checkEncoding(t, &r)
			})
		}
		rng := rand.New(rand.NewPCG(1, uint64(version)))
		for range 10 {
			r := randomRequest(rng)
			r.Version = version
			checkEncoding(t, r)
		}
	})
}

// randomRequest crosses the sizes at which compact lengths get longer.
func randomRequest(rng *rand.Rand) *ProduceRequest {
	body := make([]byte, 20000)
	r := &ProduceRequest{CorrelationID: rng.Int32(), ClientID: string(body[:rng.IntN(200)]), Acks: -1, TimeoutMillis: rng.Int32()}
	topics, partitions := 1+rng.IntN(5), 1+rng.IntN(5)
	if rng.IntN(2) == 0 {
		topics = 100 + rng.IntN(60)
	} else {
		partitions = 100 + rng.IntN(60)
	}
	for range topics {
		topic := ProduceTopic{Name: string(body[:rng.IntN(250)]), ID: [16]byte{byte(rng.Uint32())}}
		for range partitions {
			topic.Partitions = append(topic.Partitions, ProducePartition{Index: rng.Int32(), Records: body[:rng.IntN(1<<rng.IntN(14))]})
		}
		r.Topics = append(r.Topics, topic)
	}
	return r
}

// TestPieces: large batches are referenced, small ones are copied, and nothing
// is a piece of its own without need.
func TestPieces(t *testing.T) {
	large, small := make([]byte, copyBelow), make([]byte, copyBelow-1)
	parts := []ProducePartition{{Records: small}, {Records: large}, {Records: small}, {Records: small}, {Records: large}}
	eachVersion(t, func(t *testing.T, version int16) {
		r := ProduceRequest{Version: version, Topics: []ProduceTopic{{Name: "t", Partitions: parts}}}
		scratch, vec := r.AppendTo(nil, nil)
		want := 4 // header, large, between, large
		if version >= flexibleSince {
			want = 5 // and the tags behind the last one
		}
		if len(vec) != want || &vec[1][0] != &large[0] || &vec[3][0] != &large[0] {
			t.Fatalf("%d pieces, want %d with the large batches in places 1 and 3", len(vec), want)
		}
		for i, piece := range vec {
			if i != 1 && i != 3 && cap(piece) != len(piece) {
				t.Errorf("piece %d could be appended to, over the next one", i)
			}
		}
		if len(scratch)+2*len(large) != r.Size() {
			t.Errorf("%d bytes copied of %d", len(scratch), r.Size())
		}
	})
}

// TestScratchGrows: the pieces of several requests in one vector stay valid,
// however often scratch moves.
func TestScratchGrows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, room := range []int{0, 10, 1 << 16} {
		scratch, vec := make([]byte, 0, room), [][]byte(nil)
		var want []byte
		for range 20 {
			r := randomRequest(rng)
			r.Version = int16(MinProduceVersion + rng.IntN(MaxProduceVersion-MinProduceVersion+1))
			scratch, vec = r.AppendTo(scratch, vec)
			want = append(want, asKmsg(r)...)
		}
		if !bytes.Equal(bytes.Join(vec, nil), want) {
			t.Fatalf("scratch of %d bytes: the pieces are not the requests", room)
		}
	}
}
