package peer

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

var kgoPeer = Peer{
	Name: "kgo", Idempotent: true, Module: "github.com/twmb/franz-go",
	Note: "its limit of 10,000 buffered records is lifted, so that the buffer's bytes count",
	Open: openKgo,
}

type franz struct {
	c       *kgo.Client
	topic   string
	done    func(*int64, error)
	promise func(*kgo.Record, error)
}

func openKgo(c Config) (Client, error) {
	codec, err := kgoCodec(c.Codec)
	if err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Addrs...),
		kgo.ProducerLinger(c.Linger),
		kgo.ProducerBatchMaxBytes(int32(c.BatchBytes)),
		kgo.ProducerBatchCompression(codec),
		kgo.MaxBufferedBytes(int(c.BufferBytes)),
		kgo.MaxBufferedRecords(1 << 30),
	}
	if c.Spread {
		opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	f := &franz{c: client, topic: c.Topic, done: c.Done}
	f.promise = func(_ *kgo.Record, err error) { c.Done(nil, err) }
	return f, nil
}

// Produce makes a record of its own each time: kgo keeps it until its promise.
func (f *franz) Produce(ctx context.Context, value []byte, partition int32, stamp *int64) {
	promise := f.promise
	if stamp != nil {
		promise = func(_ *kgo.Record, err error) { f.done(stamp, err) }
	}
	f.c.Produce(ctx, &kgo.Record{Topic: f.topic, Value: value, Partition: partition}, promise)
}

func (f *franz) Call(ctx context.Context, value []byte) error {
	return f.c.ProduceSync(ctx, &kgo.Record{Topic: f.topic, Value: value}).FirstErr()
}

func (f *franz) Flush(ctx context.Context) error { return f.c.Flush(ctx) }
func (f *franz) Close()                          { f.c.Close() }

func kgoCodec(name string) (kgo.CompressionCodec, error) {
	switch name {
	case "none":
		return kgo.NoCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	case "gzip":
		return kgo.GzipCompression(), nil
	}
	return kgo.NoCompression(), unknownCodec(name)
}
