package main

import (
	"context"
	"errors"
	"runtime"
	"sync"
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
	printf("memory: of the heap and the stacks when they are idle, and goroutines, beyond those of a producer with one lane;\n")
	printf("resume: of all, %d at a time, by a producer that has just been made\n", resumeAtOnce)
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
	var first, resumed []time.Duration
	var bytes []int64
	goroutines := 0
	for range min(rounds, 3) {
		p, err := newProducer(cluster.addrs)
		if err != nil {
			return err
		}
		defer p.Abort()
		warm := p.Lane()
		if err := fill(ctx, warm, min(3, partitions)); err != nil { // a partition of each broker
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
		if n <= 1000 { // it takes long
			if took, err = resumeAll(ctx, cluster.addrs, lanes); err != nil {
				return err
			}
			resumed = append(resumed, took)
		}
		p.Abort()
	}
	printf("%6d lanes, topic of %d partitions: first %s, memory %d bytes a lane, %d goroutines more",
		n, partitions, spread(first), median(bytes), goroutines)
	if len(resumed) > 0 {
		printf(", resume %s", spread(resumed))
	}
	printf("\n")
	return nil
}

// resumeAtOnce is how many lanes resume at the same time: each connects to the
// brokers for it.
const resumeAtOnce = 64

// resumeAll takes a checkpoint of each lane, and resumes them in a new producer.
func resumeAll(ctx context.Context, addrs []string, lanes []*producer.Lane) (time.Duration, error) {
	points := make([]producer.Checkpoint, len(lanes))
	for i, l := range lanes {
		var err error
		if points[i], err = l.Checkpoint(ctx); err != nil {
			return 0, err
		}
	}
	p, err := newProducer(addrs)
	if err != nil {
		return 0, err
	}
	defer p.Abort()
	errs := make([]error, len(lanes))
	took := timed(func() {
		var wg sync.WaitGroup
		slots := make(chan struct{}, resumeAtOnce)
		for i := range points {
			slots <- struct{}{}
			wg.Go(func() {
				_, errs[i] = p.Resume(ctx, points[i])
				<-slots
			})
		}
		wg.Wait()
	})
	return took, errors.Join(errs...)
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
