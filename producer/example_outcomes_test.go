package producer_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
)

// send produces a record again for as long as that is safe, of use, and wanted.
func send(ctx context.Context, p *producer.Producer, rec producer.Record) (producer.Result, error) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		r, err := p.ProduceSync(ctx, rec)
		if err == nil || !producer.SafeToResend(err) || !producer.Retriable(err) {
			return r, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return r, err
		}
	}
}

// Two questions before a record is produced again: is it surely not in the log, and
// is it worth trying? And a pause, and an end.
func ExampleRetriable() {
	cluster := startCluster()
	defer cluster.Close()
	cfg := config.Default()
	cfg.BootstrapServers = cluster.Addrs()
	p, err := producer.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	r, err := send(ctx, p, producer.Record{Topic: "orders", Key: []byte("k"), Value: []byte("one")})
	fmt.Println(r.Outcome, err)

	_, err = send(ctx, p, producer.Record{Topic: "orders", Value: make([]byte, 100<<20)})
	fmt.Println("too large: safe to resend", producer.SafeToResend(err), "- of use", producer.Retriable(err))

	if err := p.Close(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = send(ctx, p, producer.Record{Topic: "orders", Value: []byte("two")})
	fmt.Println("closed: safe to resend", producer.SafeToResend(err), "- of use", producer.Retriable(err))
	// Output:
	// written <nil>
	// too large: safe to resend true - of use false
	// closed: safe to resend true - of use false
}
