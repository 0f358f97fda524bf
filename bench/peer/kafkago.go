package peer

import (
	"context"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

var kafkaGoPeer = Peer{
	Name: "kafka-go", Module: "github.com/segmentio/kafka-go",
	Note: "not idempotent: a retry can double records; one batch in flight a partition; it counts a batch in records too, set to what fits; " +
		"it has no buffer limit, so the harness holds it to one",
	Open: openKafkaGo,
}

type kafkaGo struct {
	w       *kafka.Writer
	room    *room
	pending pending
	spread  bool
}

// recordOverhead is what a record adds to its value in a batch, about.
const recordOverhead = 10

func openKafkaGo(c Config) (Client, error) {
	codec, err := kafkaGoCodec(c.Codec)
	if err != nil {
		return nil, err
	}
	linger := c.Linger
	if linger == 0 {
		linger = time.Nanosecond // zero would be its default of a second
	}
	k := &kafkaGo{spread: c.Spread, room: newRoom(c.BufferBytes)}
	k.pending.init(c.Done)
	k.w = &kafka.Writer{
		Addr: kafka.TCP(c.Addrs...), Topic: c.Topic,
		RequiredAcks: kafka.RequireAll, Compression: codec,
		BatchTimeout: linger, BatchBytes: int64(c.BatchBytes),
		BatchSize:  max(1, c.BatchBytes/(c.ValueBytes+recordOverhead)),
		Async:      true,
		Completion: k.complete,
	}
	if c.Spread {
		k.w.Balancer = kafka.BalancerFunc(func(m kafka.Message, _ ...int) int {
			return int(m.WriterData.(*kafkaGoData).partition)
		})
	}
	return k, nil
}

type kafkaGoData struct {
	partition int32
	stamp     *int64
}

func (k *kafkaGo) Produce(ctx context.Context, value []byte, partition int32, stamp *int64) {
	m := kafka.Message{Value: value}
	if k.spread || stamp != nil {
		m.WriterData = &kafkaGoData{partition, stamp}
	}
	k.room.take(int64(len(value)))
	k.pending.add()
	if err := k.w.WriteMessages(ctx, m); err != nil {
		k.room.give(int64(len(value)))
		k.pending.done(stamp, err)
	}
}

func (k *kafkaGo) complete(ms []kafka.Message, err error) {
	for i := range ms {
		var stamp *int64
		if d, ok := ms[i].WriterData.(*kafkaGoData); ok {
			stamp = d.stamp
		}
		k.room.give(int64(len(ms[i].Value)))
		k.pending.done(stamp, err)
	}
}

func (k *kafkaGo) Flush(ctx context.Context) error { return k.pending.wait(ctx) }
func (k *kafkaGo) Close()                          { _ = k.w.Close() }

func kafkaGoCodec(name string) (kafka.Compression, error) {
	switch name {
	case "none":
		return 0, nil
	case "lz4":
		return kafka.Lz4, nil
	case "zstd":
		return kafka.Zstd, nil
	case "snappy":
		return kafka.Snappy, nil
	case "gzip":
		return kafka.Gzip, nil
	}
	return 0, unknownCodec(name)
}

// room is a count of bytes that can run out.
type room struct {
	mu   sync.Mutex
	more sync.Cond
	free int64
}

func newRoom(n int64) *room {
	r := &room{free: n}
	r.more.L = &r.mu
	return r
}

func (r *room) take(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.free < n {
		r.more.Wait()
	}
	r.free -= n
}

func (r *room) give(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += n
	r.more.Signal()
}
