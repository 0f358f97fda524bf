package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-kafka/sluice/bench/work"
	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
)

// With a broker that hangs records are given up after some seconds, so that
// others take their place: memory that is kept by mistake shows by that.
const (
	requestTimeout  = 2 * time.Second
	deliveryTimeout = 5 * time.Second
	flushTimeout    = 20 * time.Second
)

// source is a producer, and the records it is given.
type source struct {
	p      *producer.Producer
	topic  string
	values [][]byte

	mu     sync.Mutex
	reason error // of the first record that failed

	written, failed atomic.Int64
}

func newSource(o options, addrs []string) (*source, error) {
	cfg := config.Default()
	cfg.BootstrapServers = addrs
	cfg.BufferBytes, cfg.MaxBlock = o.buffer, config.Unbounded
	if err := cfg.Compression.UnmarshalText([]byte(o.codec)); err != nil {
		return nil, err
	}
	if o.broker == "sink" { // whatever it says of itself, the way leads through its proxy
		cfg.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addrs[0])
		}
	}
	if o.fault == "dead" || o.fault == "flap" {
		cfg.RequestTimeout, cfg.DialTimeout, cfg.DeliveryTimeout = requestTimeout, requestTimeout, deliveryTimeout
	}
	p, err := producer.New(cfg)
	if err != nil {
		return nil, err
	}
	return &source{p: p, topic: o.topic, values: work.Work{Bytes: o.size}.Values()}, nil
}

// watch produces for the span and takes samples.
func (s *source) watch(ctx context.Context, o options, each func(sample)) []sample {
	ctx, stop := context.WithTimeout(ctx, o.span)
	defer stop()
	var producing sync.WaitGroup
	producing.Go(func() { s.produce(ctx) })
	defer producing.Wait()
	began := time.Now()
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	samples := []sample{s.look(began)}
	for {
		select {
		case <-tick.C:
			samples = append(samples, s.look(began))
			each(samples[len(samples)-1])
		case <-ctx.Done():
			return samples
		}
	}
}

func (s *source) produce(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		s.p.Produce(ctx, producer.Record{Topic: s.topic, Value: s.values[i%len(s.values)]}, s.done)
	}
}

func (s *source) done(r producer.Result) {
	switch {
	case r.Err == nil:
		s.written.Add(1)
	case !errors.Is(r.Err, context.DeadlineExceeded) && !errors.Is(r.Err, context.Canceled): // the last one, at the end
		if s.failed.Add(1) == 1 {
			s.mu.Lock()
			s.reason = r.Err
			s.mu.Unlock()
		}
	}
}

// flush waits for what is under way, where nothing was wrong. Where something was,
// records may fail.
func (s *source) flush(o options) error {
	if o.fault != "none" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := s.p.Flush(ctx); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	if n := s.failed.Load(); n > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("%d records failed: %w", n, s.reason)
	}
	return nil
}
