package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Which end of a partition offsets asks for.
const (
	latest   = -1
	earliest = -2
)

// offsets returns the first or the last offset of each partition of a topic. It
// puts up with brokers that are not there for a while.
func offsets(ctx context.Context, brokers []string, topic string, which int64) (map[int32]int64, error) {
	for until := time.Now().Add(grace); ; {
		found, err := askOffsets(ctx, brokers, topic, which)
		if err == nil || !passes(err) || time.Now().After(until) {
			return found, err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// passes reports whether an error may be gone soon.
func passes(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) || kgo.IsRetryableBrokerErr(err) ||
		kerr.IsRetriable(err) && !errors.Is(err, kerr.UnknownTopicOrPartition)
}

func askOffsets(ctx context.Context, brokers []string, topic string, which int64) (map[int32]int64, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	partitions, err := partitionsOf(ctx, client, topic)
	if err != nil {
		return nil, err
	}
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	for _, p := range partitions {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp = p, which
		rt.Partitions = append(rt.Partitions, rp)
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.Topics = -1, append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("offsets of topic %q: %w", topic, err)
	}
	found := map[int32]int64{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("offsets of topic %q partition %d: %w", topic, p.Partition, err)
			}
			found[p.Partition] = p.Offset
		}
	}
	return found, nil
}

func partitionsOf(ctx context.Context, client *kgo.Client, topic string) (partitions []int32, err error) {
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("topic %q: %w", topic, err)
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return nil, fmt.Errorf("topic %q: %w", topic, err)
		}
		for _, p := range t.Partitions {
			partitions = append(partitions, p.Partition)
		}
	}
	return partitions, nil
}

// createTopic creates a topic that must not be there yet, and waits until each of the
// brokers knows it: the controller answers before.
func createTopic(ctx context.Context, brokers []string, topic string, partitions int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, int32(partitions), -1
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("creating topic %q: %w", topic, err)
	}
	for _, broker := range brokers {
		if err := awaitTopic(ctx, broker, topic, partitions); err != nil {
			return err
		}
	}
	return nil
}

func awaitTopic(ctx context.Context, broker, topic string, partitions int) error {
	for until := time.Now().Add(grace); ; {
		ends, err := askOffsets(ctx, []string{broker}, topic, latest)
		if err == nil && len(ends) == partitions || time.Now().After(until) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// growTopic adds partitions to a topic until it has so many.
func growTopic(ctx context.Context, brokers []string, topic string, partitions int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = topic, int32(partitions)
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Topics, req.TimeoutMillis = append(req.Topics, t), int32(grace.Milliseconds())
	resp, err := req.RequestWith(ctx, client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("adding partitions to topic %q: %w", topic, err)
	}
	return nil
}

// readAll reads a topic to which nothing is written any more, from beginning to
// end: its records by partition, in the order of the log.
func readAll(ctx context.Context, brokers []string, topic string) (map[int32][]*kgo.Record, error) {
	left, err := offsets(ctx, brokers, topic, latest)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(200*time.Millisecond), // some partitions end before others
	)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	all := map[int32][]*kgo.Record{}
	for partition, end := range left {
		all[partition] = nil
		if end == 0 {
			delete(left, partition)
		}
	}
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading topic %q: %w", topic, err)
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return nil, fmt.Errorf("reading topic %q partition %d: %w", topic, errs[0].Partition, errs[0].Err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			all[r.Partition] = append(all[r.Partition], r)
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		})
	}
	return all, nil
}
