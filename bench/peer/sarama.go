package peer

import (
	"context"

	"github.com/IBM/sarama"
)

var saramaPeer = Peer{
	Name: "sarama", Idempotent: true, Module: "github.com/IBM/sarama",
	Note: "one request in flight a broker, which is its rule for idempotence; it counts the batch size over a request; it has no buffer limit in bytes; " +
		"without a key it picks a partition at random for every record",
	Open: openSarama,
}

type saramaClient struct {
	p       sarama.AsyncProducer
	topic   string
	pending pending
}

func openSarama(c Config) (Client, error) {
	cfg := sarama.NewConfig()
	cfg.Producer.Idempotent = true
	cfg.Net.MaxOpenRequests = 1
	cfg.Producer.RequiredAcks = sarama.WaitForAll
	cfg.Producer.Return.Successes = true
	cfg.Producer.Flush.Frequency = c.Linger
	if c.Linger > 0 { // with all of Flush at zero it sends at once
		cfg.Producer.Flush.Bytes = c.BatchBytes
	}
	cfg.Producer.MaxMessageBytes = c.BatchBytes
	if err := cfg.Producer.Compression.UnmarshalText([]byte(c.Codec)); err != nil {
		return nil, err
	}
	if c.Spread {
		cfg.Producer.Partitioner = sarama.NewManualPartitioner
	}
	p, err := sarama.NewAsyncProducer(c.Addrs, cfg)
	if err != nil {
		return nil, err
	}
	s := &saramaClient{p: p, topic: c.Topic}
	s.pending.init(c.Done)
	go func() {
		for m := range p.Successes() {
			stamp, _ := m.Metadata.(*int64)
			s.pending.done(stamp, nil)
		}
	}()
	go func() {
		for e := range p.Errors() {
			stamp, _ := e.Msg.Metadata.(*int64)
			s.pending.done(stamp, e.Err)
		}
	}()
	return s, nil
}

func (s *saramaClient) Produce(ctx context.Context, value []byte, partition int32, stamp *int64) {
	m := &sarama.ProducerMessage{Topic: s.topic, Value: sarama.ByteEncoder(value), Partition: partition}
	if stamp != nil {
		m.Metadata = stamp
	}
	s.pending.add()
	select {
	case s.p.Input() <- m:
	case <-ctx.Done():
		s.pending.done(stamp, ctx.Err())
	}
}

func (s *saramaClient) Flush(ctx context.Context) error { return s.pending.wait(ctx) }
func (s *saramaClient) Close()                          { s.p.AsyncClose() }
