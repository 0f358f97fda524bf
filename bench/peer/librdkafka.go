//go:build librdkafka

package peer

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func init() { all = append(all, librdkafkaPeer) }

var librdkafkaPeer = Peer{
	Name: "librdkafka", Idempotent: true,
	Note: "through confluent-kafka-go, with its delivery channel; its limits of 100,000 queued records and 10,000 a batch are lifted",
	Open: openLibrdkafka,
	version: func() string {
		_, v := kafka.LibraryVersion()
		return v
	},
}

type librdkafka struct {
	p        *kafka.Producer
	topic    string
	spread   bool
	delivery chan kafka.Event
	pending  pending
}

// fullPause is how long Produce waits when librdkafka's queue is full; it gives
// no sign when there is room again.
const fullPause = time.Millisecond

func openLibrdkafka(c Config) (Client, error) {
	p, err := kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers":            strings.Join(c.Addrs, ","),
		"enable.idempotence":           true,
		"acks":                         "all",
		"linger.ms":                    strconv.FormatFloat(c.Linger.Seconds()*1e3, 'f', -1, 64),
		"batch.size":                   c.BatchBytes,
		"batch.num.messages":           1_000_000,
		"queue.buffering.max.kbytes":   int(c.BufferBytes >> 10),
		"queue.buffering.max.messages": 0,
		"compression.type":             c.Codec,
	})
	if err != nil {
		return nil, err
	}
	l := &librdkafka{p: p, topic: c.Topic, spread: c.Spread, delivery: make(chan kafka.Event, 1<<16)}
	l.pending.init(c.Done)
	go func() {
		for e := range l.delivery {
			if m, ok := e.(*kafka.Message); ok {
				stamp, _ := m.Opaque.(*int64)
				l.pending.done(stamp, m.TopicPartition.Error)
			}
		}
	}()
	go func() { // errors of the client as a whole show up in records too
		for range p.Events() { //nolint:revive // drained
		}
	}()
	return l, nil
}

func (l *librdkafka) Produce(ctx context.Context, value []byte, partition int32, stamp *int64) {
	m := &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &l.topic, Partition: kafka.PartitionAny}, Value: value}
	if l.spread {
		m.TopicPartition.Partition = partition
	}
	if stamp != nil {
		m.Opaque = stamp
	}
	l.pending.add()
	for {
		err := l.p.Produce(m, l.delivery)
		var kerr kafka.Error
		if err == nil {
			return
		}
		if !errors.As(err, &kerr) || kerr.Code() != kafka.ErrQueueFull || ctx.Err() != nil {
			l.pending.done(stamp, err)
			return
		}
		time.Sleep(fullPause)
	}
}

// Flush makes librdkafka forget its linger in turns, and waits for the callbacks.
func (l *librdkafka) Flush(ctx context.Context) error {
	for ctx.Err() == nil && l.p.Flush(100) > 0 {
	}
	return l.pending.wait(ctx)
}

func (l *librdkafka) Close() { l.p.Close() }
