package producer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sluice-kafka/sluice/internal/cluster"
	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Ping waits until a broker has answered and given a producer ID, so that
// addresses, TLS, credentials and the right to produce are known to be good. With
// topics it also waits until each of their partitions has a leader that can be
// reached, takes Produce requests, and lets us write, as far as brokers tell that;
// so that a record could be sent to them now. It creates none of them, and does
// not say whether enough replicas are in sync.
//
// What time does not mend ends the wait at once: a login, a certificate, a version
// or a right that is refused, a broker of another cluster. Everything else may
// still come right, until ctx ends, and then the latest reason is in the error.
// What was learnt is in Stats.
func (pr *Producer) Ping(ctx context.Context, topics ...string) error {
	err := pr.pingCluster(ctx)
	if err == nil && len(topics) > 0 {
		err = pr.pingTopics(ctx, topics)
	}
	if err != nil {
		return fmt.Errorf("producer: ping: %w", err)
	}
	return nil
}

func (pr *Producer) pingCluster(ctx context.Context) error {
	c := &pr.control
	done, rounds := c.done.Load(), c.rounds.Load()
	c.refresh()
	refused := func() bool { return c.rounds.Load() > rounds && final(c.lastError()) }
	err := pr.delivery.await(ctx, func() bool {
		return pr.closing.Load() || refused() || c.done.Load() > done && pr.main.identity.Load() != nil
	})
	switch {
	case pr.closing.Load():
		return ErrClosed
	case err != nil:
		return because(err, c.lastError())
	case refused():
		return c.lastError()
	}
	return nil
}

// pingTopics asks on connections of its own, so that it finds what a new connection
// would find, and gets in nobody's way.
func (pr *Producer) pingTopics(ctx context.Context, topics []string) error {
	backoff := retry.NewBackoff(pr.cfg.RetryBackoff, pr.cfg.RetryBackoffMax)
	for {
		err := pr.askAround(ctx, topics)
		if err == nil || final(err) {
			return err
		}
		select {
		case <-time.After(backoff.Next(rand.Float64())):
		case <-ctx.Done():
			return because(ctx.Err(), err)
		case <-pr.closed:
			return ErrClosed
		}
	}
}

// askAround asks one broker for the topics, and looks whether their leaders could
// take records.
func (pr *Producer) askAround(ctx context.Context, topics []string) error {
	addrs := append([]string{}, pr.cfg.BootstrapServers...)
	for _, b := range *pr.senders.Load() {
		addrs = append(addrs, b.addr.Load())
	}
	c, _, err := conn.DialAny(ctx, addrs[:min(len(addrs), mostTargets)], pr.connOptions(true))
	if err != nil {
		return err
	}
	defer c.Close()
	req := kmsg.NewPtrMetadataRequest()
	req.IncludeTopicAuthorizedOperations = true
	for _, name := range topics {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, rt)
	}
	resp, err := c.Do(ctx, req)
	if err != nil {
		return err
	}
	leaders, err := leadersOf(resp.(*kmsg.MetadataResponse), topics)
	if err != nil {
		return err
	}
	for _, addr := range leaders {
		if err := pr.takesRecords(ctx, addr); err != nil {
			return err
		}
	}
	return nil
}

// takesRecords makes a connection as a sender would.
func (pr *Producer) takesRecords(ctx context.Context, addr string) error {
	c, err := pr.dial(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if version, ok := c.Version(produceKey, maxProduceVersion); !ok || version < minProduceVersion {
		return &conn.Error{Addr: addr, Op: "Produce", Err: errNoProduce}
	}
	return nil
}

var errNoRight = errors.New("WRITE is not among the operations that the broker allows")

// leadersOf returns the addresses of all leaders of the topics, by their node IDs.
func leadersOf(resp *kmsg.MetadataResponse, topics []string) (map[int32]string, error) {
	snap, _ := new(cluster.Snapshot).Merge(resp, topics)
	rights := map[string]int32{}
	for i := range resp.Topics {
		if t := &resp.Topics[i]; t.Topic != nil {
			rights[*t.Topic] = t.AuthorizedOperations
		}
	}
	leaders := map[int32]string{}
	for _, name := range topics {
		t, ok := snap.Topic(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("topic %q: %w", name, errNotAnswered)
		case t.Err != 0:
			return nil, fmt.Errorf("topic %q: %w", name, retry.Code(t.Err))
		case len(t.Partitions) == 0:
			return nil, fmt.Errorf("topic %q: %w", name, retry.LeaderNotAvailable)
		}
		const unsaid, write = -1 << 31, 1 << 4
		if ops := rights[name]; ops != unsaid && ops&write == 0 {
			return nil, fmt.Errorf("topic %q: %w: %w", name, retry.TopicAuthorizationFailed, errNoRight)
		}
		for i := range t.Partitions {
			b, _, ok := snap.Leader(name, int32(i))
			if !ok {
				return nil, fmt.Errorf("topic %q partition %d: %w", name, i, retry.LeaderNotAvailable)
			}
			leaders[b.ID] = b.Addr()
		}
	}
	return leaders, nil
}
