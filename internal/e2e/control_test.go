package e2e

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/internal/verify"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The controls show that the faults bite and that the judge sees it: what goes
// without idempotence or without the gate does not pass.

// withoutIdempotence has another client write without it while acks are lost.
func (a *arena) withoutIdempotence(t *testing.T) {
	s := a.on(t)
	const topic = "not-idempotent"
	s.must(s.kafka.CreateTopic(topic, 1, 3, nil))
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...), kgo.DisableIdempotentWrite(),
		kgo.MaxProduceRequestsInflightPerBroker(5), kgo.ProducerBatchMaxBytes(loadBatch))
	s.must(err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()

	log := verify.New(topic, 0)
	produce := func(n int) {
		for range n {
			value, number := log.Value(nil, 100)
			client.Produce(ctx, &kgo.Record{Topic: topic, Value: value}, func(r *kgo.Record, err error) {
				if err != nil {
					log.Note(number, verify.Unknown, r.Partition, -1)
				} else {
					log.Note(number, verify.Written, r.Partition, r.Offset)
				}
			})
		}
	}
	produce(1000)
	s.must(client.Flush(ctx))
	produce(5000)
	before := s.dropped()
	s.dropResponses(true)
	s.until("responses dropped", func() bool { return s.dropped() > before+1 })
	s.cutAll()
	s.dropResponses(false)
	lost := s.dropped() - before
	s.must(client.Flush(ctx))
	verdict, err := log.Read(ctx, s.kafka.Addrs())
	s.must(err)
	t.Logf("%d responses lost: %s", lost, verdict.String())
	if verdict.Doubled == 0 {
		t.Error("nothing was doubled: the fault does not bite, or the judge is blind")
	}
}

// withoutGate is KAFKA-15591: of four batches in flight to a broker that does
// not know the producer the first is refused, and the second is taken for the
// first. Whether the client then gives up the first batch or, like the Java
// client, sends it again in a new epoch: the judge sees that something is wrong.
func (a *arena) withoutGate(t *testing.T) {
	s := a.on(t)
	for _, again := range []bool{false, true} {
		p := s.pipeline(map[bool]string{false: "gate-off", true: "gate-off-again"}[again])
		first := p.batch(0)
		damaged := append([]byte(nil), first...)
		damaged[len(damaged)-1] ^= 1
		p.write(damaged, p.batch(1), p.batch(2), p.batch(3))
		const corruptMessage, outOfOrder = 2, 45
		if code, _ := p.answer(); code != corruptMessage {
			t.Fatalf("the first batch: code %d, want %d", code, corruptMessage)
		}
		for number := 1; number <= 3; number++ {
			code, offset := p.answer()
			if code != 0 {
				t.Fatalf("batch %d behind the gap: code %d; this broker needs no gate", number, code)
			}
			p.log.Note(number, verify.Written, 0, offset)
		}
		p.write(first)
		if code, _ := p.answer(); code != outOfOrder {
			t.Fatalf("the first batch again: code %d, want %d", code, outOfOrder)
		}
		if again {
			p.epoch++
			p.write(p.encode(0, 0))
			code, offset := p.answer()
			if code != 0 {
				t.Fatalf("the first batch in a new epoch: code %d", code)
			}
			p.log.Note(0, verify.Written, 0, offset)
		} else {
			p.log.Note(0, verify.NotWritten, 0, -1)
		}
		verdict, err := p.log.Read(t.Context(), s.kafka.Addrs())
		s.must(err)
		t.Log(verdict.String())
		if again && verdict.Swapped == 0 || !again && verdict.Gaps != 1 {
			t.Error("the judge sees nothing")
		}
	}
}

// pipeline is a producer without any care: a connection to the leader of a
// partition, and batches of one record.
type pipeline struct {
	*stage
	topic  string
	id     int64
	epoch  int16
	log    *verify.Log
	values [][]byte
	conn   net.Conn
	sent   int32
}

func (s *stage) pipeline(topic string) *pipeline {
	s.t.Helper()
	s.must(s.kafka.CreateTopic(topic, 1, 3, nil))
	client, err := kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs()...))
	s.must(err)
	defer client.Close()
	id, err := kmsg.NewPtrInitProducerIDRequest().RequestWith(s.t.Context(), client)
	s.must(err)
	leaders, err := s.kafka.Leaders(topic)
	s.must(err)
	conn, err := net.Dial("tcp", s.kafka.ListenAddr(leaders[0]))
	s.must(err)
	s.t.Cleanup(func() { conn.Close() })
	s.must(conn.SetDeadline(time.Now().Add(deadline)))
	return &pipeline{stage: s, topic: topic, id: id.ProducerID, epoch: id.ProducerEpoch, log: verify.New(topic, 0), conn: conn}
}

// batch returns a new batch whose sequence is its number.
func (p *pipeline) batch(number int) []byte {
	value, _ := p.log.Value(nil, 100)
	p.values = append(p.values, value)
	return p.encode(number, int32(number))
}

func (p *pipeline) encode(number int, sequence int32) []byte {
	now := time.Now().UnixMilli()
	rb := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: p.id, ProducerEpoch: p.epoch, FirstSequence: sequence, NumRecords: 1,
	}
	r := kmsg.Record{Value: p.values[number]}
	r.Length = int32(len(r.AppendTo(nil)) - 1)
	rb.Records = r.AppendTo(nil)
	const lengthEnd, crcStart, crcEnd = 12, 17, 21
	out := rb.AppendTo(nil)
	binary.BigEndian.PutUint32(out[lengthEnd-4:], uint32(len(out)-lengthEnd))
	binary.BigEndian.PutUint32(out[crcStart:], crc32.Checksum(out[crcEnd:], crc32.MakeTable(crc32.Castagnoli)))
	return out
}

const pipelineVersion = 9 // of Produce: by name

// write sends batches without waiting for answers, a request each.
func (p *pipeline) write(batches ...[]byte) {
	p.t.Helper()
	var out []byte
	for _, b := range batches {
		part := kmsg.NewProduceRequestTopicPartition()
		part.Records = b
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic, topic.Partitions = p.topic, append(topic.Partitions, part)
		r := kmsg.NewPtrProduceRequest()
		r.SetVersion(pipelineVersion)
		r.Acks, r.TimeoutMillis = -1, 30_000
		r.Topics = append(r.Topics, topic)
		out = append(out, kmsg.NewRequestFormatter().AppendRequest(nil, r, p.sent)...)
		p.sent++
	}
	_, err := p.conn.Write(out)
	p.must(err)
}

// answer is the next one.
func (p *pipeline) answer() (code int16, offset int64) {
	p.t.Helper()
	var size [4]byte
	_, err := io.ReadFull(p.conn, size[:])
	p.must(err)
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(p.conn, frame)
	p.must(err)
	resp := kmsg.NewPtrProduceResponse()
	resp.SetVersion(pipelineVersion)
	const header = 5 // correlation id, no tags
	p.must(resp.ReadFrom(frame[header:]))
	part := resp.Topics[0].Partitions[0]
	return part.ErrorCode, part.BaseOffset
}
