package wire

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzProduceRequest: any request is byte for byte what kmsg makes of it, and
// kmsg reads it back.
func FuzzProduceRequest(f *testing.F) {
	f.Add(uint8(0), int32(1), int16(-1), "sluice", []byte{})
	f.Add(uint8(10), int32(-1), int16(1), "", []byte("\x02ab\x03\x00\x01\xff\x05hello\xfe\x13\x01c\x00"))
	f.Add(uint8(7), int32(7), int16(0), "c", bytes.Repeat([]byte("\x01t\x02\x01\xfe\x05\xfe\x80"), 70))
	f.Fuzz(func(t *testing.T, version uint8, number int32, acks int16, clientID string, in []byte) {
		r := ProduceRequest{
			Version:       MinProduceVersion + int16(version%(MaxProduceVersion-MinProduceVersion+1)),
			CorrelationID: number, Acks: acks, TimeoutMillis: number / 2,
			ClientID: clientID[:min(len(clientID), 1000)],
			Topics:   scriptedTopics(in),
		}
		checkEncoding(t, &r)
		_, vec := r.AppendTo(make([]byte, 0, 100), nil)
		checkRead(t, &r, bytes.Join(vec, nil))
	})
}

// scriptedTopics makes topics of the bytes of a fuzzer.
func scriptedTopics(in []byte) (topics []ProduceTopic) {
	next := func(n int) []byte {
		n = min(n, len(in))
		p := in[:n:n]
		in = in[n:]
		return p
	}
	one := func() int {
		if p := next(1); len(p) == 1 {
			return int(p[0])
		}
		return 0
	}
	size := 0
	for len(in) > 0 && size < 1<<20 {
		topic := ProduceTopic{Name: string(next(one() % 250))}
		copy(topic.ID[:], topic.Name)
		for range one() {
			p := ProducePartition{Index: int32(one()) - 5}
			switch n := one(); n {
			case 255: // null
			case 254:
				p.Records = make([]byte, 70*one())
			default:
				p.Records = next(n)
			}
			size += 4 + len(p.Records)
			topic.Partitions = append(topic.Partitions, p)
		}
		topics = append(topics, topic)
	}
	return topics
}

// checkRead reads a frame as a broker does and compares it with the request.
func checkRead(t *testing.T, r *ProduceRequest, frame []byte) {
	t.Helper()
	body := frame[4+8:]
	if int(binary.BigEndian.Uint32(frame)) != len(frame)-4 {
		t.Fatalf("frame of %d bytes says it has %d", len(frame)-4, binary.BigEndian.Uint32(frame))
	}
	body = body[2+int(binary.BigEndian.Uint16(body)):]
	if r.Version >= flexibleSince {
		body = body[1:]
	}
	k := kmsg.NewPtrProduceRequest()
	k.Version = r.Version
	if err := k.ReadFrom(body); err != nil {
		t.Fatal(err)
	}
	if len(k.Topics) != len(r.Topics) || k.TransactionID != nil || k.Acks != r.Acks {
		t.Fatalf("read back %d topics of %d", len(k.Topics), len(r.Topics))
	}
	for i, topic := range r.Topics {
		got := k.Topics[i]
		if r.Version < topicIDSince && got.Topic != topic.Name || r.Version >= topicIDSince && got.TopicID != topic.ID {
			t.Fatalf("topic %d is %q %x", i, got.Topic, got.TopicID)
		}
		for j, p := range topic.Partitions {
			if g := got.Partitions[j]; g.Partition != p.Index || !bytes.Equal(g.Records, p.Records) || (g.Records == nil) != (p.Records == nil) {
				t.Fatalf("topic %d: partition %d is %+v", i, j, g)
			}
		}
	}
}
