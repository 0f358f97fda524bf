package producer_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

func TestFirstRecord(t *testing.T) {
	c, err := producertest.New(producertest.Config{Topics: map[string]int32{"t": 4}, SequenceWindow: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cfg := config.Default()
	cfg.BootstrapServers = c.Addrs()
	p, err := producer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := p.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := p.ProduceSync(ctx, producer.Record{Topic: "t", Value: []byte("first"), Partition: producer.On(2)})
	if err != nil || r.Offset != 0 || r.Partition != 2 {
		t.Fatalf("%+v %v", r, err)
	}
	for i := range 10000 {
		p.Produce(ctx, producer.Record{Topic: "t", Value: fmt.Append(nil, i)}, func(r producer.Result) {
			if r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
	if err := p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	s := p.Stats()
	t.Logf("%+v", s)
	if v := c.Violations(); len(v) > 0 {
		t.Fatal(v)
	}
	if s.Written != 10001 {
		t.Fatal(s.Written)
	}
}
