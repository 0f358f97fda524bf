package sink

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func listen(t *testing.T, c Config) *Broker {
	t.Helper()
	b, err := Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// caller is a client by hand.
type caller struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
	sent []kmsg.Request
}

func dial(t *testing.T, addr string) *caller {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &caller{t: t, conn: conn, r: bufio.NewReader(conn)}
}

func (c *caller) send(q kmsg.Request, version int16) {
	c.t.Helper()
	q.SetVersion(version)
	out := kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, q, int32(len(c.sent)))
	if _, err := c.conn.Write(out); err != nil {
		c.t.Fatal(err)
	}
	c.sent = append(c.sent, q)
}

// receive reads the response to the n-th request.
func (c *caller) receive(n int) kmsg.Response {
	c.t.Helper()
	frame, err := readFrame(c.r, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if got := int(binary.BigEndian.Uint32(frame)); got != n {
		c.t.Fatalf("response %d came, not %d", got, n)
	}
	resp := c.sent[n].ResponseKind()
	body := frame[4:]
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		c.t.Fatal(err)
	}
	return resp
}

func (c *caller) call(q kmsg.Request, version int16) kmsg.Response {
	c.t.Helper()
	c.send(q, version)
	return c.receive(len(c.sent) - 1)
}

func produceRequest(partition int32, batch []byte) *kmsg.ProduceRequest {
	q := kmsg.NewPtrProduceRequest()
	q.Acks = -1
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = Topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, batch
	topic.Partitions = append(topic.Partitions, p)
	q.Topics = append(q.Topics, topic)
	return q
}

func TestEveryVersionIsAnswered(t *testing.T) {
	b := listen(t, Config{Partitions: 2})
	c := dial(t, b.Addrs()[0])
	for _, s := range served {
		for v := s.lo; v <= s.hi; v++ {
			if s.key == int16(kmsg.Produce) {
				batch := rawBatch(int64(100+v), 0, 3)
				r := c.call(produceRequest(1, batch), v).(*kmsg.ProduceResponse)
				if p := r.Topics[0].Partitions[0]; p.ErrorCode != 0 || p.Partition != 1 || p.BaseOffset != 3*int64(v-s.lo) {
					t.Errorf("Produce %d: %+v", v, p)
				}
				continue
			}
			c.call(kmsg.RequestForKey(s.key), v)
		}
	}
}

func TestWindowIsTold(t *testing.T) {
	for _, window := range []int32{0, 1000} {
		c := dial(t, listen(t, Config{Partitions: 1, Window: window}).Addrs()[0])
		versions := c.call(kmsg.NewPtrApiVersionsRequest(), 3).(*kmsg.ApiVersionsResponse)
		id := c.call(kmsg.NewPtrInitProducerIDRequest(), 4).(*kmsg.InitProducerIDResponse)
		for _, tags := range []*kmsg.Tags{&versions.UnknownTags, &id.UnknownTags} {
			got := int32(0)
			tags.Each(func(tag uint32, v []byte) {
				if tag == windowTag {
					got = int32(binary.BigEndian.Uint32(v))
				}
			})
			if got != window {
				t.Errorf("window %d, want %d", got, window)
			}
		}
	}
}

func TestUnknownApiVersionsIsAnsweredInVersion0(t *testing.T) {
	c := dial(t, listen(t, Config{Partitions: 1}).Addrs()[0])
	c.send(kmsg.NewPtrApiVersionsRequest(), 4)
	c.receive(0)
	raw := kmsg.NewRequestFormatter().AppendRequest(nil, &kmsg.ApiVersionsRequest{Version: 4}, 1)
	binary.BigEndian.PutUint16(raw[6:], 99)
	if _, err := c.conn.Write(raw); err != nil {
		t.Fatal(err)
	}
	c.sent = append(c.sent, &kmsg.ApiVersionsRequest{})
	if r := c.receive(1).(*kmsg.ApiVersionsResponse); r.ErrorCode != 35 || len(r.ApiKeys) == 0 {
		t.Errorf("%+v", r)
	}
}

func TestLeadersTakeTurns(t *testing.T) {
	b := listen(t, Config{Partitions: 4, Brokers: 3})
	c := dial(t, b.Addrs()[1])
	q := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = kmsg.StringPtr("any")
	q.Topics = append(q.Topics, topic)
	m := c.call(q, 9).(*kmsg.MetadataResponse)
	for i, want := range []int32{0, 1, 2, 0} {
		if got := m.Topics[0].Partitions[i].Leader; got != want {
			t.Errorf("partition %d is led by %d, want %d", i, got, want)
		}
	}
	for partition, want := range map[int32]int16{1: codeNone, 2: codeNotLeader} {
		r := c.call(produceRequest(partition, rawBatch(7, 0, 1)), 7).(*kmsg.ProduceResponse)
		if got := r.Topics[0].Partitions[0].ErrorCode; got != want {
			t.Errorf("partition %d: code %d, want %d", partition, got, want)
		}
	}
}

func TestGarbageEndsTheConnection(t *testing.T) {
	for name, bytes := range map[string][]byte{
		"too short":      {0, 0, 0, 1, 0},
		"too long":       {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0},
		"unknown":        {0, 0, 0, 10, 0, 99, 0, 0, 0, 0, 0, 0, 0xff, 0xff},
		"a Fetch":        {0, 0, 0, 10, 0, 1, 0, 4, 0, 0, 0, 0, 0xff, 0xff},
		"a bad Produce":  {0, 0, 0, 12, 0, 0, 0, 7, 0, 0, 0, 0, 0xff, 0xff, 0, 1},
		"a bad Metadata": {0, 0, 0, 10, 0, 3, 0, 9, 0, 0, 0, 0, 0, 9},
	} {
		for _, rtt := range []time.Duration{0, time.Microsecond} {
			c := dial(t, listen(t, Config{Partitions: 1, RTT: rtt}).Addrs()[0])
			if _, err := c.conn.Write(bytes); err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, c.r); n > 0 {
				t.Errorf("%s: %d bytes of an answer, %v", name, n, err)
			}
		}
	}
}

func TestListenRefusesWhatCannotBe(t *testing.T) {
	for _, c := range []Config{{}, {Partitions: 1, Brokers: -1}, {Partitions: 1, RTT: -1}, {Partitions: 1, Window: -1}} {
		if b, err := Listen(c); err == nil {
			t.Errorf("%+v is served", c)
			_ = b.Close()
		}
	}
}
