package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
)

// checkpointCost is what a checkpoint costs.
type checkpointCost struct {
	binary, json int // bytes
	quiet        []time.Duration
	busy, flush  []time.Duration
	marshal      []time.Duration
	resume       []time.Duration
}

func measureCheckpoints(ctx context.Context, o options) error {
	printf("\ncheckpoints of a lane, embedded cluster of 3 brokers in another process, median (least-most) of %d\n", o.rounds)
	printf("quiet: nothing is under way; busy: a record of each partition is; flush: the same with Flush and no checkpoint;\n")
	printf("resume: by a producer that has just been made, until it may go on\n")
	for _, n := range []int{1, 100, 10_000} {
		c, err := measureCheckpoint(ctx, n, o.rounds)
		if err != nil {
			return err
		}
		printf("%6d partitions: %d bytes binary, %d JSON; quiet %s, busy %s, flush %s, to binary %s, resume %s\n",
			n, c.binary, c.json, spread(c.quiet), spread(c.busy), spread(c.flush), spread(c.marshal), spread(c.resume))
	}
	return nil
}

func newProducer(addrs []string) (*producer.Producer, error) {
	cfg := config.Default()
	cfg.BootstrapServers = addrs
	return producer.New(cfg)
}

func measureCheckpoint(ctx context.Context, partitions, rounds int) (c checkpointCost, err error) {
	cluster, err := startCluster(partitions)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, cluster.close()) }()
	p, err := newProducer(cluster.addrs)
	if err != nil {
		return c, err
	}
	defer p.Abort()
	lane := p.Lane()
	if err := fill(ctx, lane, partitions); err != nil {
		return c, err
	}
	var last producer.Checkpoint
	for range rounds {
		c.quiet = append(c.quiet, timed(func() { last, err = lane.Checkpoint(ctx) }))
		if err != nil {
			return c, err
		}
		if len(last.Partitions) != partitions {
			return c, fmt.Errorf("%d partitions in it", len(last.Partitions))
		}
		produce(ctx, lane, partitions)
		c.flush = append(c.flush, timed(func() { err = lane.Flush(ctx) }))
		produce(ctx, lane, partitions)
		c.busy = append(c.busy, timed(func() { last, err = lane.Checkpoint(ctx) }))
		if err = errors.Join(err, lane.Err()); err != nil {
			return c, err
		}
	}
	if err := c.sizes(last, rounds); err != nil {
		return c, err
	}
	p.Abort()
	for range rounds {
		took, err := resumeOnce(ctx, cluster.addrs, last)
		if err != nil {
			return c, err
		}
		c.resume = append(c.resume, took)
	}
	return c, nil
}

func timed(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

// produce writes a record to each partition.
func produce(ctx context.Context, lane *producer.Lane, partitions int) {
	for i := range partitions {
		lane.Produce(ctx, producer.Record{Topic: topic, Partition: producer.On(int32(i)), Value: []byte("hello")}, nil)
	}
}

// fill writes some records to each partition.
func fill(ctx context.Context, lane *producer.Lane, partitions int) error {
	for range 3 {
		produce(ctx, lane, partitions)
	}
	return errors.Join(lane.Flush(ctx), lane.Err())
}

func (c *checkpointCost) sizes(of producer.Checkpoint, rounds int) error {
	for range rounds {
		var data []byte
		var err error
		c.marshal = append(c.marshal, timed(func() { data, err = of.MarshalBinary() }))
		if err != nil {
			return err
		}
		c.binary = len(data)
	}
	text, err := json.Marshal(of)
	c.json = len(text)
	return err
}

func resumeOnce(ctx context.Context, addrs []string, from producer.Checkpoint) (took time.Duration, err error) {
	took = timed(func() {
		var p *producer.Producer
		if p, err = newProducer(addrs); err != nil {
			return
		}
		defer p.Abort()
		_, err = p.Resume(ctx, from)
	})
	return took, err
}
