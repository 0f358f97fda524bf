package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-kafka/sluice/producer/producertest"
)

const (
	notLeader      = 6
	tooFewReplicas = 19
	duplicate      = 46
)

// chaos makes an embedded cluster fail in the ways real ones do.
type chaos struct {
	cluster    *producertest.Cluster
	topic      string
	partitions int
	wg         sync.WaitGroup
	cancel     context.CancelFunc

	batches                                       atomic.Int64
	refused, duplicates, lostReplies, cuts, moves atomic.Int64
}

func (c *chaos) String() string {
	return fmt.Sprintf("%d connections cut, %d replies lost, %d batches refused, %d DUPLICATE replies forced, %d leaders moved",
		c.cuts.Load(), c.lostReplies.Load(), c.refused.Load(), c.duplicates.Load(), c.moves.Load())
}

func (c *chaos) start(ctx context.Context) {
	ctx, c.cancel = context.WithCancel(ctx)
	c.cluster.OnProduce(c.fault)
	c.wg.Go(func() { c.run(ctx) })
}

func (c *chaos) stop() {
	c.cancel()
	c.wg.Wait()
	c.cluster.OnProduce(nil)
}

// fault decides what goes wrong with one batch of one request.
func (c *chaos) fault(producertest.ProduceAttempt) producertest.Fault {
	switch n := c.batches.Add(1); {
	case n%97 == 0: // those pipelined behind it become OUT_OF_ORDER
		c.refused.Add(1)
		return producertest.Refuse(tooFewReplicas)
	case n%151 == 0:
		c.duplicates.Add(1)
		return producertest.AppendThen(duplicate).NoOffset()
	case n%211 == 0: // executed, and the connection dies instead of the answer
		c.lostReplies.Add(1)
		return producertest.Drop()
	case n%307 == 0:
		c.refused.Add(1)
		return producertest.Refuse(notLeader)
	}
	return producertest.Fault{}
}

// run cuts connections and moves leaders in turn.
func (c *chaos) run(ctx context.Context) {
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if i%2 == 0 {
			if c.cluster.CutConnections(int32(i/2%3)) == nil {
				c.cuts.Add(1)
			}
			continue
		}
		partition := int32(i / 2 % c.partitions)
		leader, _, err := c.cluster.Leader(c.topic, partition)
		if err == nil && c.cluster.MoveLeader(c.topic, partition, (leader+1)%3) == nil {
			c.moves.Add(1)
		}
	}
}
