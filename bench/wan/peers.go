package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/twmb/franz-go/pkg/kgo"
)

type client interface {
	produce(ctx context.Context, value []byte)
	flush(ctx context.Context) error
	failed() int64
	close()
}

type peer struct {
	name string
	open func(addrs []string, topic string, s setting) (client, error)
}

var peers = []peer{{"sluice", openSluice}, {"kgo", openKgo}}

const (
	linger = 5 * time.Millisecond
	buffer = 64 << 20
)

var connections = 1 // a broker, for Sluice

type sluice struct {
	p     *producer.Producer
	topic string
	bad   *atomic.Int64
	done  func(producer.Result)
}

func openSluice(addrs []string, topic string, s setting) (client, error) {
	cfg := config.Default()
	cfg.BootstrapServers = addrs
	cfg.Linger, cfg.BatchBytes, cfg.BufferBytes, cfg.ConnectionsPerBroker = linger, s.batch, buffer, connections
	p, err := producer.New(cfg)
	c := sluice{p: p, topic: topic, bad: new(atomic.Int64)}
	c.done = func(r producer.Result) {
		if r.Err != nil {
			c.bad.Add(1)
		}
	}
	return c, err
}

func (c sluice) produce(ctx context.Context, value []byte) {
	c.p.Produce(ctx, producer.Record{Topic: c.topic, Value: value}, c.done)
}
func (c sluice) flush(ctx context.Context) error { return c.p.Flush(ctx) }
func (c sluice) failed() int64                   { return c.bad.Load() }
func (c sluice) close()                          { c.p.Abort() }

type franz struct {
	c     *kgo.Client
	topic string
	bad   *atomic.Int64
}

func openKgo(addrs []string, topic string, s setting) (client, error) {
	c, err := kgo.NewClient(
		kgo.SeedBrokers(addrs...),
		kgo.ProducerLinger(linger),
		kgo.ProducerBatchMaxBytes(int32(s.batch)),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedBytes(buffer),
		kgo.MaxBufferedRecords(1<<20),
	)
	return franz{c, topic, new(atomic.Int64)}, err
}

func (c franz) produce(ctx context.Context, value []byte) {
	c.c.Produce(ctx, &kgo.Record{Topic: c.topic, Value: value}, func(_ *kgo.Record, err error) {
		if err != nil {
			c.bad.Add(1)
		}
	})
}
func (c franz) flush(ctx context.Context) error { return c.c.Flush(ctx) }
func (c franz) failed() int64                   { return c.bad.Load() }
func (c franz) close()                          { c.c.Close() }
