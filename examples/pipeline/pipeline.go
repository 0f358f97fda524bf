package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/twmb/franz-go/pkg/kgo"
)

// pipeline reads all partitions of a topic, transforms the records, and writes
// what comes out to another topic, exactly once. docs/exactly-once.md says when
// that holds.
type pipeline struct {
	brokers       []string
	input, output string
	store         Store
	transform     func(*kgo.Record) []producer.Record
	every         time.Duration // between two checkpoints of a partition
	expiration    time.Duration // producer.id.expiration.ms of the brokers
	logger        *slog.Logger  // may be nil

	// saved is called after every checkpoint, by several goroutines.
	saved func(partition int32, offset int64)
}

// grace is how long the last records and checkpoints may take when the pipeline
// is to stop.
const grace = 30 * time.Second

// run runs the pipeline until ctx ends or something fails. After a failure run
// it again: it carries on from the last checkpoints. Not everything gets better
// by that; docs/exactly-once.md says which errors want a human.
func (p *pipeline) run(ctx context.Context) error {
	out, err := p.producer()
	if err != nil {
		return err
	}
	defer out.Abort()
	workers, err := p.open(ctx, out)
	if err != nil {
		return err
	}
	in, err := p.consumer(workers)
	if err != nil {
		return err
	}
	defer in.Close()

	// When ctx ends nothing more is read; work goes on until all that was read
	// is written and checkpointed.
	work, fail := context.WithCancelCause(context.WithoutCancel(ctx))
	defer fail(nil)
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() {
			w.run(work, func(err error) { fail(fmt.Errorf("input partition %d: %w", w.partition, err)) })
		})
	}
	if err := read(ctx, work, in, workers); err != nil {
		fail(err)
	}
	for _, w := range workers {
		close(w.records)
	}
	late := time.AfterFunc(grace, func() { fail(errors.New("stopping takes too long")) })
	defer late.Stop()
	wg.Wait()
	if err := context.Cause(work); err != nil {
		return err
	}
	return out.Close(work)
}

func (p *pipeline) producer() (*producer.Producer, error) {
	cfg := config.Default()
	cfg.BootstrapServers = p.brokers
	cfg.MaxBlock = config.Unbounded // a full buffer slows the reading down, and is no failure
	cfg.ProducerIDExpiration = p.expiration
	cfg.Logger = p.logger
	return producer.New(cfg)
}

// consumer reads every partition from where its state says. It never moves to
// another offset by itself: input that is gone is an error.
func (p *pipeline) consumer(workers map[int32]*worker) (*kgo.Client, error) {
	from := map[int32]kgo.Offset{}
	for _, w := range workers {
		from[w.partition] = kgo.NewOffset().At(w.next)
	}
	return kgo.NewClient(
		kgo.SeedBrokers(p.brokers...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{p.input: from}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
	)
}

// read hands the records to the workers until ctx or work ends.
func read(ctx, work context.Context, in *kgo.Client, workers map[int32]*worker) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(work, cancel)()
	for {
		fetches := in.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil // what was just read comes again the next time
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("input partition %d: %w", errs[0].Partition, errs[0].Err)
		}
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			select {
			case workers[f.Partition].records <- f.Records:
			case <-ctx.Done():
			}
		})
	}
}

// open makes a worker for each partition of the input, all at once: each has a
// lane that carries on where the last process ended.
func (p *pipeline) open(ctx context.Context, out *producer.Producer) (map[int32]*worker, error) {
	first, err := offsets(ctx, p.brokers, p.input, earliest)
	if err != nil {
		return nil, err
	}
	var (
		mu      sync.Mutex
		wg      sync.WaitGroup
		workers = map[int32]*worker{}
		faults  error
	)
	for partition, offset := range first {
		wg.Go(func() {
			w := newWorker(p, partition)
			err := w.open(ctx, out, offset)
			mu.Lock()
			defer mu.Unlock()
			workers[partition] = w
			if err != nil {
				faults = errors.Join(faults, fmt.Errorf("input partition %d: %w", partition, err))
			}
		})
	}
	wg.Wait()
	return workers, faults
}
