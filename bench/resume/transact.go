package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// transact is the pipeline of examples/pipeline with transactions in the place
// of checkpoints, and kgo in that of Sluice: it commits at the same intervals,
// and says so in the same words.
func transact(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("transact", flag.ContinueOnError)
	brokers := f.String("brokers", "", "host:port,...")
	input := f.String("input", "", "topic")
	output := f.String("output", "", "topic")
	every := f.Duration("every", 100*time.Millisecond, "time between two commits")
	if err := f.Parse(args); err != nil {
		return err
	}
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(split(*brokers)...),
		kgo.TransactionalID(*output),
		kgo.ConsumerGroup(*output),
		kgo.ConsumeTopics(*input),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), // Sluice's default
		kgo.ProducerLinger(5*time.Millisecond),            // too
		kgo.MaxBufferedRecords(1<<20),                     // Sluice counts bytes
	)
	if err != nil {
		return err
	}
	defer session.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		drain(os.Stdin)
		cancel()
	}()
	for ctx.Err() == nil {
		if err := transaction(ctx, session, *output, *every); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// transaction is one transaction from begin to commit.
func transaction(ctx context.Context, s *kgo.GroupTransactSession, output string, every time.Duration) error {
	if err := s.Begin(); err != nil {
		return err
	}
	done := map[int32]int64{}
	over, cancel := context.WithTimeout(ctx, every)
	defer cancel()
	for over.Err() == nil {
		fetches := s.PollFetches(over)
		for _, f := range fetches.Errors() {
			if !errors.Is(f.Err, context.DeadlineExceeded) && !errors.Is(f.Err, context.Canceled) {
				return f.Err
			}
		}
		fetches.EachRecord(func(in *kgo.Record) {
			for _, rec := range words(in) {
				rec.Topic = output
				s.Produce(ctx, rec, nil) // a failure makes the session abort
			}
			done[in.Partition] = in.Offset + 1
		})
	}
	committed, err := s.End(ctx, kgo.TryCommit)
	if err != nil {
		return err
	}
	if !committed {
		return errors.New("a transaction was aborted")
	}
	for partition, offset := range done {
		printf("saved %d %d.\n", partition, offset)
	}
	return nil
}

// words is transform of examples/pipeline.
func words(in *kgo.Record) []*kgo.Record {
	all := strings.Fields(string(in.Value))
	out := make([]*kgo.Record, len(all))
	for i, word := range all {
		word = strings.ToUpper(word)
		out[i] = &kgo.Record{
			Key: []byte(word), Value: fmt.Appendf(nil, "%d/%d/%d %s", in.Partition, in.Offset, i, word),
		}
	}
	return out
}
