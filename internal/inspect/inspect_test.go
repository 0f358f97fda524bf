package inspect

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// cluster has topic t with batches of one record each, by kgo.
func cluster(t *testing.T, batches int) (*producertest.Cluster, *conn.Conn) {
	t.Helper()
	c, err := producertest.New(producertest.Config{Topics: map[string]int32{"t": 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Addrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i := range batches {
		r := client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: fmt.Append(nil, i)})
		if err := r.FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	to, err := conn.Dial(t.Context(), c.Addrs()[0], conn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(to.Abandon)
	return c, to
}

// forever is the end of a reading that only the log has.
const forever = math.MaxInt64

func TestLogShowsBatchesAndTheirProducer(t *testing.T) {
	const n = 20
	_, to := cluster(t, n)
	for from := range int64(n + 1) {
		var got []Header
		end, err := Log(t.Context(), to, Place{"t", 0}, topicID(t, to), from, forever, func(h Header) bool {
			got = append(got, h)
			return true
		})
		if err != nil || end != n || len(got) != n-int(from) {
			t.Fatalf("from %d: %d batches up to %d, %v", from, len(got), end, err)
		}
		for i, h := range got {
			want := Header{Offset: from + int64(i), Records: 1, ProducerID: h.ProducerID, Base: int32(from) + int32(i)}
			if h != want || h.ProducerID < 0 {
				t.Errorf("from %d: %+v, want %+v", from, h, want)
			}
		}
	}
}

func topicID(t *testing.T, to *conn.Conn) [16]byte {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr("t")
	req.Topics = append(req.Topics, topic)
	resp, err := to.Do(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(*kmsg.MetadataResponse).Topics[0].TopicID
}

func TestLogSaysWhatIsWrong(t *testing.T) {
	_, to := cluster(t, 1)
	if _, err := Log(t.Context(), to, Place{"t", 7}, topicID(t, to), 0, forever, func(Header) bool { return true }); err == nil {
		t.Error("no error for a partition that is not there")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := Log(ctx, to, Place{"t", 0}, [16]byte{}, 0, forever, func(Header) bool { return true }); err == nil {
		t.Error("no error after the end of the context")
	}
}

func TestFindReadsTheEntry(t *testing.T) {
	_, to := cluster(t, 3)
	id := theProducer(t, to)
	var q Question
	q.Add(Place{"t", 0}, id)
	q.Add(Place{"t", 1}, id)
	q.Add(Place{"t", 0}, id+1)
	q.Add(Place{"other", 0}, id)
	if n := len(q.req.Topics[0].Partitions); n != 2 || q.Places() != 3 {
		t.Errorf("asks for %d partitions, of %d in all", n, q.Places())
	}
	resp, err := to.Do(t.Context(), q.Request())
	if err != nil {
		t.Fatal(err)
	}
	answer := resp.(*Answer)
	if e, ok := answer.Find(Place{"t", 0}, id); !ok || e != (Entry{Known: true, Last: 2}) {
		t.Errorf("%+v, %v", e, ok)
	}
	if e, ok := answer.Find(Place{"t", 0}, id+1); !ok || e != (Entry{Last: -1}) {
		t.Errorf("an unknown producer: %+v, %v", e, ok)
	}
	if e, ok := answer.Find(Place{"t", 1}, id); !ok || e.Code == 0 {
		t.Errorf("a partition that is not there: %+v, %v", e, ok)
	}
	if _, ok := answer.Find(Place{"t", 2}, id); ok {
		t.Error("a partition that was not asked for is there")
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add(make([]byte, headerBytes))
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, fetched []byte) {
		n := 0
		_, _ = Headers(fetched, func(Header) bool { n++; return true })
		if n > len(fetched)/headerBytes {
			t.Errorf("%d batches in %d bytes", n, len(fetched))
		}
	})
}
