package peer

import (
	"context"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
)

var sluicePeer = Peer{
	Name: "sluice", Idempotent: true, Module: "github.com/sluice-kafka/sluice",
	Open: func(c Config) (Client, error) { return OpenSluice(c, nil) },
}

type sluice struct {
	p      *producer.Producer
	topic  string
	spread bool
	done   func(producer.Result)
}

// OpenSluice opens Sluice with further settings; tune may be nil.
func OpenSluice(c Config, tune func(*config.Config)) (Client, error) {
	cfg := config.Default()
	cfg.BootstrapServers = c.Addrs
	cfg.Linger, cfg.BatchBytes, cfg.BufferBytes = c.Linger, c.BatchBytes, c.BufferBytes
	if err := cfg.Compression.UnmarshalText([]byte(c.Codec)); err != nil {
		return nil, err
	}
	if tune != nil {
		tune(&cfg)
	}
	p, err := producer.New(cfg)
	if err != nil {
		return nil, err
	}
	done := func(r producer.Result) {
		stamp, _ := r.Tag.(*int64)
		c.Done(stamp, r.Err)
	}
	return &sluice{p: p, topic: c.Topic, spread: c.Spread, done: done}, nil
}

func (s *sluice) Produce(ctx context.Context, value []byte, partition int32, stamp *int64) {
	rec := producer.Record{Topic: s.topic, Value: value}
	if stamp != nil {
		rec.Tag = stamp
	}
	if s.spread {
		rec.Partition = producer.On(partition)
	}
	s.p.Produce(ctx, rec, s.done)
}

func (s *sluice) Call(ctx context.Context, value []byte) error {
	_, err := s.p.ProduceSync(ctx, producer.Record{Topic: s.topic, Value: value})
	return err
}

func (s *sluice) Flush(ctx context.Context) error { return s.p.Flush(ctx) }
func (s *sluice) Close()                          { s.p.Abort() }
