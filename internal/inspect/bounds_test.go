package inspect

import (
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math"
	"net"
	"runtime"
	"testing"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// dialBroker connects to a broker that answers as the test says. It offers what a
// reading asks for.
func dialBroker(t *testing.T, answer func(kmsg.Request) kmsg.Response) *conn.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(c, answer)
		}
	}()
	c, err := conn.Dial(t.Context(), listener.Addr().String(), conn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Abandon)
	return c
}

func serve(c net.Conn, answer func(kmsg.Request) kmsg.Response) {
	defer c.Close()
	for {
		var size [4]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(c, frame); err != nil {
			return
		}
		r := kbin.Reader{Src: frame}
		req := kmsg.RequestForKey(r.Int16())
		req.SetVersion(r.Int16())
		id := r.Int32()
		_ = r.NullableString()
		if req.IsFlexible() {
			kmsg.SkipTags(&r)
		}
		if err := req.ReadFrom(r.Src); err != nil {
			return
		}
		resp := offered(req)
		if resp == nil {
			resp = answer(req)
		}
		b := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(id))
		if resp.IsFlexible() && resp.Key() != 18 {
			b = append(b, 0)
		}
		b = resp.AppendTo(b)
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

func offered(req kmsg.Request) kmsg.Response {
	if req.Key() != 18 {
		return nil
	}
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	for _, key := range []int16{1, 18, 23, DescribeProducersKey} {
		resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: kmsg.RequestForKey(key).MaxVersion()})
	}
	return resp
}

// batches are empty ones of a producer, one behind the other.
func batches(from int64, n int, producerID int64) []byte {
	b := make([]byte, 0, n*headerBytes)
	for i := range int64(n) {
		h := make([]byte, headerBytes)
		binary.BigEndian.PutUint64(h, uint64(from+i))
		binary.BigEndian.PutUint32(h[lengthAt:], headerBytes-afterLength)
		h[magicAt] = 2
		binary.BigEndian.PutUint64(h[producerAt:], uint64(producerID))
		b = append(b, h...)
	}
	return b
}

// log answers a Fetch with what records says is at an offset, below a high watermark.
func logOf(req kmsg.Request, high int64, records func(from int64) []byte) kmsg.Response {
	q := req.(*kmsg.FetchRequest)
	resp := q.ResponseKind().(*kmsg.FetchResponse)
	rt := kmsg.NewFetchResponseTopic()
	rt.Topic, rt.TopicID = q.Topics[0].Topic, q.Topics[0].TopicID
	rp := kmsg.NewFetchResponseTopicPartition()
	rp.HighWatermark, rp.RecordBatches = high, records(q.Topics[0].Partitions[0].FetchOffset)
	rt.Partitions = append(rt.Partitions, rp)
	resp.Topics = append(resp.Topics, rt)
	return resp
}

// A log that never ends is read up to a limit. That is said, and where it was.
func TestLogWithoutEnd(t *testing.T) {
	defer func(was int64) { mostRead = was }(mostRead)
	mostRead = 3 << 20
	c := dialBroker(t, func(req kmsg.Request) kmsg.Response {
		return logOf(req, math.MaxInt64, func(from int64) []byte { return batches(from, 10_000, 7) })
	})
	seen := int64(0)
	end, err := Log(t.Context(), c, Place{"t", 0}, [16]byte{}, 0, forever, func(Header) bool { seen++; return true })
	if !errors.Is(err, ErrLong) || end != seen || seen*headerBytes < mostRead || seen*headerBytes > 2*mostRead {
		t.Errorf("%d batches, up to %d: %v", seen, end, err)
	}
	// It ends where who reads has seen enough.
	seen = 0
	end, err = Log(t.Context(), c, Place{"t", 0}, [16]byte{}, 5, forever, func(Header) bool { seen++; return seen < 3 })
	if err != nil || seen != 3 || end != 8 {
		t.Errorf("%d batches, up to %d: %v", seen, end, err)
	}
}

// A chain is read up to the end that the log had when the reading began, whatever the
// high watermark is said to be.
func TestChainEndsWhereTheLogDid(t *testing.T) {
	const end = 12_345
	fetches := 0
	c := dialBroker(t, func(req kmsg.Request) kmsg.Response {
		if req.Key() == 1 {
			fetches++
			return logOf(req, math.MaxInt64, func(from int64) []byte { return batches(from, 10_000, 7) })
		}
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
		rp.EndOffset = end
		resp.Topics = append(resp.Topics, kmsg.OffsetForLeaderEpochResponseTopic{
			Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochResponseTopicPartition{rp},
		})
		return resp
	})
	var chain Chain
	if err := ReadChain(t.Context(), c, Place{"t", 0}, [16]byte{}, 0, 7, &chain); err != nil || fetches != 2 || chain.Next < end {
		t.Errorf("%d fetches, %+v, %v", fetches, chain, err)
	}
}

// What does not go on is no log: a reading of it would have no end, or no sense.
func TestOffsetsRise(t *testing.T) {
	for name, records := range map[string]func(from int64) []byte{
		"the same again": func(from int64) []byte { return append(batches(from, 3, 7), batches(from+2, 3, 7)...) },
		"back to before": func(from int64) []byte { return append(batches(from, 3, 7), batches(0, 1, 7)...) },
		"negative":       func(int64) []byte { return batches(-3, 3, 7) },
		"no records": func(from int64) []byte {
			b := batches(from, 3, 7)
			binary.BigEndian.PutUint32(b[lastDeltaAt:], math.MaxUint32)
			return b
		},
		"beyond the largest": func(from int64) []byte { return batches(math.MaxInt64-1, 3, 7) },
		"only what was read": func(from int64) []byte { return batches(max(from-3, 0), int(min(from, 3)), 7) },
	} {
		c := dialBroker(t, func(req kmsg.Request) kmsg.Response { return logOf(req, math.MaxInt64, records) })
		seen := 0
		if _, err := Log(t.Context(), c, Place{"t", 0}, [16]byte{}, 10, forever, func(Header) bool { seen++; return true }); err == nil || seen > 3 {
			t.Errorf("%s: %d batches, %v", name, seen, err)
		}
	}
}

// crowd answers with so many producers in each partition that was asked about, of
// which some is of no interest to anyone.
func crowd(req kmsg.Request, producers int, also func(*kmsg.DescribeProducersResponse)) kmsg.Response {
	q := req.(*kmsg.DescribeProducersRequest)
	resp := q.ResponseKind().(*kmsg.DescribeProducersResponse)
	for _, qt := range q.Topics {
		rt := kmsg.DescribeProducersResponseTopic{Topic: qt.Topic}
		for _, n := range qt.Partitions {
			rp := kmsg.DescribeProducersResponseTopicPartition{Partition: n}
			for id := range int64(producers) {
				rp.ActiveProducers = append(rp.ActiveProducers, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
					ProducerID: id, ProducerEpoch: 1, LastSequence: int32(id) + n,
				})
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	if also != nil {
		also(resp)
	}
	return resp
}

// Many partitions with many producers are asked about in portions, and nothing is
// kept but what was asked for.
func TestDescribeInPortions(t *testing.T) {
	const partitions, producers = 50, 10_000
	var questions, most int
	c := dialBroker(t, func(req kmsg.Request) kmsg.Response {
		questions++
		if n := len(req.(*kmsg.DescribeProducersRequest).Topics[0].Partitions); questions > 1 {
			most = max(most, n)
		}
		return crowd(req, producers, nil)
	})
	var places []Place
	for i := range int32(partitions) {
		places = append(places, Place{"t", i})
	}
	var size Portion
	answer, err := Describe(t.Context(), c, places, 77, &size)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range places {
		if e, ok := answer.Find(at, 77); !ok || e != (Entry{Known: true, Epoch: 1, Last: 77 + at.Partition}) {
			t.Fatalf("%v: %+v, %v", at, e, ok)
		}
	}
	if n, large := size.Next(); n != 1 || !large || most != 1 || questions != 1+partitions-firstPortion || len(answer.entries) != partitions {
		t.Errorf("%d questions, of up to %d partitions; %d entries", questions, most, len(answer.entries))
	}
}

// Answers that were large are forgotten, and small ones lead on to many partitions.
func TestPortionLearns(t *testing.T) {
	var size Portion
	for _, want := range []int{4, 16, 64, 256, 1024} {
		n, large := size.Next()
		if n != want || large {
			t.Fatalf("%d partitions, large %v, want %d", n, large, want)
		}
		size.Learn(n, 60*n)
	}
	size.Refused(1, 32<<20)
	for i := 0; ; i++ {
		n, large := size.Next()
		if large && n != 1 {
			t.Fatalf("%d large ones at once", n)
		}
		if n > 1000 {
			break
		}
		if size.Learn(n, 60*n); i > 200 {
			t.Fatal("it does not forget")
		}
	}
}

// To read an answer takes the memory of what was asked, whatever else is in it.
func TestAnswerKeepsWhatWasAsked(t *testing.T) {
	empties := func(resp *kmsg.DescribeProducersResponse) {
		resp.Topics[0].Partitions = append(resp.Topics[0].Partitions, make([]kmsg.DescribeProducersResponseTopicPartition, 200_000)...)
	}
	strangers := func(resp *kmsg.DescribeProducersResponse) {
		for range 100_000 {
			resp.Topics = append(resp.Topics, kmsg.DescribeProducersResponseTopic{Topic: "stranger"})
		}
	}
	for name, also := range map[string]func(*kmsg.DescribeProducersResponse){"producers": nil, "empty partitions": empties, "topics": strangers} {
		var q Question
		q.Add(Place{"t", 1}, 5)
		body := append([]byte{0}, crowd(&q.req, 20_000, also).AppendTo(nil)...)
		answer := q.Request().ResponseKind().(*Answer)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := conn.Decode(answer, body, conn.Limit(q.Request()))
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; err != nil || got > 64<<10 {
			t.Errorf("%s: %d bytes for a body of %d, %v", name, got, len(body), err)
		}
		if e, ok := answer.Find(Place{"t", 1}, 5); !ok || e.Last != 6 || answer.Size() < 700<<10 {
			t.Errorf("%s: %+v, %v, %d bytes", name, e, ok, answer.Size())
		}
	}
}

// Any bytes: what kmsg reads is read to the same.
func FuzzAnswer(f *testing.F) {
	var q Question
	for i := range int32(3) {
		q.Add(Place{"t", i}, int64(i))
	}
	f.Add(crowd(&q.req, 3, nil).AppendTo(nil))
	f.Add([]byte{0, 0, 0, 0, 2, 1, 2})
	f.Fuzz(func(t *testing.T, body []byte) {
		resp, answer := kmsg.NewPtrDescribeProducersResponse(), q.Request().ResponseKind().(*Answer)
		if err := answer.ReadFrom(body); err != nil {
			if resp.ReadFrom(body) == nil {
				t.Fatalf("%v, and kmsg reads it", err)
			}
			return
		}
		if resp.ReadFrom(body) != nil {
			return // a null where there can be none
		}
		want := map[whose]Entry{}
		codes := map[Place]int16{}
		for _, rt := range resp.Topics {
			for _, rp := range rt.Partitions {
				at := Place{rt.Topic, rp.Partition}
				if !q.has[at] {
					continue
				}
				codes[at] = rp.ErrorCode
				for _, a := range rp.ActiveProducers {
					if q.about[a.ProducerID] {
						want[whose{at, a.ProducerID}] = Entry{Known: true, Epoch: a.ProducerEpoch, Last: a.LastSequence}
					}
				}
			}
		}
		if !maps.Equal(want, answer.entries) || !maps.Equal(codes, answer.codes) {
			t.Errorf("%v %v, want %v %v", answer.entries, answer.codes, want, codes)
		}
	})
}
