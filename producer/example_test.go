package producer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// startCluster stands for your Kafka.
func startCluster() *producertest.Cluster {
	c, err := producertest.New(producertest.Config{
		Topics:         map[string]int32{"orders": 3},
		SequenceWindow: 10_000,
	})
	if err != nil {
		log.Fatal(err)
	}
	return c
}

func Example() {
	cluster := startCluster()
	defer cluster.Close()

	cfg := config.Default()
	cfg.BootstrapServers = cluster.Addrs() // yours: []string{"127.0.0.1:9092"}
	p, err := producer.New(cfg)
	if err != nil {
		log.Fatal(err) // every fault of the configuration
	}
	ctx := context.Background()
	for i := range 1000 {
		rec := producer.Record{Topic: "orders", Key: fmt.Append(nil, i), Value: []byte("hello")}
		p.Produce(ctx, rec, func(r producer.Result) {
			if r.Err != nil {
				log.Print(r.Err)
			}
		})
	}
	if err := p.Close(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Stats().Written, "written")
	// Output: 1000 written
}

func ExampleProducer_ProduceSync() {
	cluster := startCluster()
	defer cluster.Close()
	cfg := config.Default()
	cfg.BootstrapServers = cluster.Addrs()
	p, err := producer.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Abort()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := p.ProduceSync(ctx, producer.Record{Topic: "orders", Value: []byte("one"), Partition: producer.On(2)})
	fmt.Println(r.Topic, r.Partition, r.Offset, r.Outcome, err)
	// Output: orders 2 0 written <nil>
}

// One callback can serve all records: Tag says which one it is.
func ExampleRecord_tag() {
	cluster := startCluster()
	defer cluster.Close()
	cfg := config.Default()
	cfg.BootstrapServers = cluster.Addrs()
	p, err := producer.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	done := func(r producer.Result) { fmt.Println(r.Tag, "is", r.Outcome) }
	ctx := context.Background()
	for _, order := range []string{"order 1", "order 2"} {
		p.Produce(ctx, producer.Record{Topic: "orders", Key: []byte("k"), Value: []byte(order), Tag: order}, done)
	}
	if err := p.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// order 1 is written
	// order 2 is written
}

// Only a record that is surely not in the log may be produced again.
func ExampleSafeToResend() {
	cluster := startCluster()
	defer cluster.Close()
	cfg := config.Default()
	cfg.BootstrapServers = cluster.Addrs()
	p, err := producer.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	if err := p.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	_, err = p.ProduceSync(context.Background(), producer.Record{Topic: "orders"})
	fmt.Println(errors.Is(err, producer.ErrClosed), producer.SafeToResend(err))
	// Output: true true
}
