package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-kafka/sluice/bench/work"
	"github.com/sluice-kafka/sluice/internal/faultproxy"
	"github.com/sluice-kafka/sluice/internal/realkafka"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kafka is a real cluster for all runs, with a delay line in front of each node
// that is used by works with a round trip.
type kafka struct {
	cluster *realkafka.Cluster
	proxies []*faultproxy.Proxy
	nodes   int
	topics  int
}

func startKafka(nodes int, delayed bool) (*kafka, error) {
	k := &kafka{nodes: nodes}
	cfg := realkafka.Config{Nodes: nodes, Optimise: true}
	var perr error
	if delayed {
		cfg.Advertise = func(_ int, addr string) string {
			p, err := faultproxy.Listen(addr)
			if err != nil {
				perr = errors.Join(perr, err)
				return addr
			}
			k.proxies = append(k.proxies, p)
			return p.Addr()
		}
	}
	var err error
	k.cluster, err = realkafka.Run(cfg)
	if err = errors.Join(err, perr); err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

func (k *kafka) Addrs() []string { return k.cluster.Addrs() }

// Topic makes a fresh topic for a run, in the place of the one before, and sets
// the line to its round trip.
func (k *kafka) Topic(w work.Work) (string, error) {
	for _, p := range k.proxies {
		p.Delay(0)
	}
	if k.topics > 0 {
		if err := k.deleteTopic(topicName(k.topics)); err != nil {
			return "", err
		}
	}
	k.topics++
	name := topicName(k.topics)
	soon := map[string]string{"file.delete.delay.ms": "100"} // a run writes gigabytes
	if err := k.cluster.CreateTopic(name, w.Partitions, int16(k.nodes), soon); err != nil {
		return "", err
	}
	for _, p := range k.proxies {
		p.Delay(w.RTT / 2)
	}
	return name, nil
}

func topicName(n int) string { return fmt.Sprintf("compare-%d", n) }

func (k *kafka) deleteTopic(name string) error {
	c, err := kgo.NewClient(kgo.SeedBrokers(k.cluster.Addrs()...))
	if err != nil {
		return err
	}
	defer c.Close()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 10_000
	req.TopicNames = []string{name}
	req.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}
	resp, err := req.RequestWith(context.Background(), c)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("deleting topic %s: %w", name, err)
		}
	}
	return nil
}

// Stop does nothing: the cluster stays for the next run, and says nothing of itself.
func (k *kafka) Stop() (*sinkFigures, error) { return nil, nil }

func (k *kafka) close() error {
	var errs []error
	for _, p := range k.proxies {
		errs = append(errs, p.Close())
	}
	if k.cluster != nil {
		errs = append(errs, k.cluster.Close())
	}
	return errors.Join(errs...)
}
