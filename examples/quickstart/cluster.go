package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// cluster is where the records go: an embedded cluster that misbehaves, or the
// user's.
type cluster struct {
	what     string
	brokers  []string
	embedded *producertest.Cluster // nil: a real one
	chaos    *chaos
}

func open(ctx context.Context, o options) (*cluster, error) {
	if o.brokers != "" {
		c := &cluster{what: "cluster at " + o.brokers, brokers: strings.Split(o.brokers, ",")}
		return c, createTopic(ctx, c.brokers, o)
	}
	embedded, err := producertest.New(producertest.Config{
		Brokers:        3,
		SequenceWindow: int32(o.window),
		Topics:         map[string]int32{o.topic: int32(o.partitions)},
	})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("embedded cluster of 3 brokers that speak KIP-758 with a window of %d sequences", o.window)
	if o.window == 0 {
		what = "embedded cluster of 3 stock brokers"
	}
	return &cluster{
		what: what, brokers: embedded.Addrs(), embedded: embedded,
		chaos: &chaos{cluster: embedded, topic: o.topic, partitions: o.partitions},
	}, nil
}

func (c *cluster) close() {
	if c.embedded != nil {
		c.embedded.Close()
	}
}

func (c *cluster) misbehave(ctx context.Context) {
	if c.chaos != nil {
		c.chaos.start(ctx)
	}
}

func (c *cluster) behave() {
	if c.chaos != nil {
		c.chaos.stop()
	}
}

func (c *cluster) faults() string {
	if c.chaos == nil {
		return ""
	}
	return c.chaos.String()
}

func (c *cluster) violations() []string {
	if c.embedded == nil {
		return nil
	}
	return c.embedded.Violations()
}

// createTopic creates the topic on a real cluster; one that exists is used as
// it is only if it is empty, else the verdict would be about other records.
func createTopic(ctx context.Context, brokers []string, o options) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = o.topic, int32(o.partitions), -1
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("creating topic %q: %w", o.topic, err)
	}
	if err := kerr.ErrorForCode(resp.Topics[0].ErrorCode); err != nil {
		return fmt.Errorf("creating topic %q: %w", o.topic, err)
	}
	return nil
}
