// Quickstart produces a million records while things go wrong, reads them back
// with another client, and says what became of them. With no flags it brings
// its own Kafka cluster along, one that speaks KIP-758 with a small window;
// with -brokers it runs against yours, where nothing is made to fail.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/verify"
	"github.com/sluice-kafka/sluice/producer"
)

type options struct {
	brokers    string
	topic      string
	records    int
	size       int
	partitions int
	window     int
	verbose    bool
}

func main() {
	var o options
	flag.StringVar(&o.brokers, "brokers", "", "host:port,... of a real cluster; empty: an embedded one, with faults")
	flag.StringVar(&o.topic, "topic", "", "topic to create and write; empty: a new name")
	flag.IntVar(&o.records, "records", 1_000_000, "records to produce")
	flag.IntVar(&o.size, "size", 100, "bytes of each value")
	flag.IntVar(&o.partitions, "partitions", 6, "partitions of the topic")
	flag.IntVar(&o.window, "window", 5_000, "sequence window of the embedded brokers, in records; 0: stock brokers")
	flag.BoolVar(&o.verbose, "v", false, "log what the producer does")
	flag.Parse()
	if o.topic == "" {
		o.topic = fmt.Sprintf("sluice-quickstart-%d", time.Now().UnixNano())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	cluster, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer cluster.close()

	cfg := config.Default()
	cfg.BootstrapServers = cluster.brokers
	if o.verbose {
		cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	p, err := producer.New(cfg)
	if err != nil {
		return err
	}
	defer p.Abort()
	if err := ping(ctx, p); err != nil {
		return err
	}
	fmt.Printf("%s\nproducing %d records of %d bytes to %d partitions of %s\n\n",
		cluster.what, o.records, o.size, o.partitions, o.topic)

	log := verify.New(o.topic, 0)
	began := time.Now()
	cluster.misbehave(ctx)
	show := progress(p, o.records)
	err = produce(ctx, p, log, o)
	cluster.behave()
	if cerr := p.Close(ctx); err == nil {
		err = cerr
	}
	show()
	if err != nil {
		return err
	}
	summary(p.Stats(), time.Since(began), cluster)
	return judge(ctx, log, cluster)
}

func ping(ctx context.Context, p *producer.Producer) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return p.Ping(ctx)
}

// produce hands over all records; the callback notes what became of each.
func produce(ctx context.Context, p *producer.Producer, log *verify.Log, o options) error {
	done := func(r producer.Result) { log.Note(r.Tag.(int), outcomes[r.Outcome], r.Partition, r.Offset) }
	var value []byte
	for range o.records {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var number int
		value, number = log.Value(value[:0], o.size)
		p.Produce(ctx, producer.Record{Topic: o.topic, Value: value, Tag: number}, done)
	}
	return nil
}

var outcomes = map[producer.Outcome]verify.Outcome{
	producer.Written:    verify.Written,
	producer.NotWritten: verify.NotWritten,
	producer.Unknown:    verify.Unknown,
}

func judge(ctx context.Context, log *verify.Log, c *cluster) error {
	fmt.Println("reading everything back with kgo ...")
	verdict, err := log.Read(ctx, c.brokers)
	if err != nil {
		return err
	}
	fmt.Println(verdict.String())
	for _, v := range c.violations() {
		fmt.Println("rule broken on the wire:", v)
		return fmt.Errorf("%d rules were broken on the wire", len(c.violations()))
	}
	if n := verdict.Faults() + verdict.Unknown + verdict.NotWritten; n > 0 {
		return fmt.Errorf("%d records are not as they should be", n)
	}
	return nil
}
