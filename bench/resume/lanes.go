package main

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/sluice-kafka/sluice/producer"
)

// lanesTopic is how many partitions the topic has that the lanes write to, each
// to one of them. A lane keeps a pointer for each partition of a topic.
var lanesTopic = []int{16, 1000}

func measureLanes(ctx context.Context, o options) error {
	printf("\nlanes, each with a record in one partition, embedded cluster of 3 brokers in another process\n")
	printf("first: until the first record of every lane is written, by a producer that has written before;\n")
	printf("memory: of the heap and the stacks when they are idle, and goroutines, beyond those of a producer with one lane\n")
	for _, partitions := range lanesTopic {
		for _, n := range []int{1, 1000, 10_000} {
			if err := measureSoManyLanes(ctx, partitions, n, o.rounds); err != nil {
				return err
			}
		}
	}
	return nil
}

func measureSoManyLanes(ctx context.Context, partitions, n, rounds int) (err error) {
	cluster, err := startCluster(partitions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.close()) }()
	var first []time.Duration
	var bytes []int64
	goroutines := 0
	for range min(rounds, 3) {
		p, err := newProducer(cluster.addrs)
		if err != nil {
			return err
		}
		defer p.Abort()
		warm := p.Lane()
		if err := fill(ctx, warm, partitions); err != nil {
			return err
		}
		before, running := memory(), runtime.NumGoroutine()
		lanes := make([]*producer.Lane, n)
		took, err := firstRecords(ctx, p, lanes, partitions)
		if err != nil {
			return err
		}
		first = append(first, took)
		bytes = append(bytes, (memory()-before)/int64(n))
		goroutines = runtime.NumGoroutine() - running
		runtime.KeepAlive(lanes)
		p.Abort()
	}
	printf("%6d lanes, topic of %d partitions: first %s, memory %d bytes a lane, %d goroutines more\n",
		n, partitions, spread(first), median(bytes), goroutines)
	return nil
}

// firstRecords makes the lanes and waits until each has written a record.
func firstRecords(ctx context.Context, p *producer.Producer, lanes []*producer.Lane, partitions int) (time.Duration, error) {
	var failed atomic.Pointer[error]
	done := func(r producer.Result) {
		if r.Err != nil {
			failed.CompareAndSwap(nil, &r.Err)
		}
	}
	var err error
	took := timed(func() {
		for i := range lanes {
			lanes[i] = p.Lane()
			lanes[i].Produce(ctx, producer.Record{
				Topic: topic, Partition: producer.On(int32(i % partitions)), Value: []byte("hello"),
			}, done)
		}
		err = p.Flush(ctx)
	})
	if f := failed.Load(); f != nil {
		err = errors.Join(err, *f)
	}
	return took, err
}

// memory is what is in use once what is not has been collected.
func memory() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
