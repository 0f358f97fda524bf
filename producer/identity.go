package producer

import (
	"context"
	"fmt"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// identity is a producer ID as a broker gave it. Partitions compare the pointer.
type identity struct {
	producerID int64
	epoch      int16
	broker     int32 // that answered, -1 if not known
	window     int32 // sequences, as named in that answer; 0 if it named none
}

// mostIDs is how many producer IDs are asked for at once.
const mostIDs = 256

// initProducerIDs gets lanes their producer IDs, in about one round trip.
func (c *control) initProducerIDs(ctx context.Context, lanes []*Lane) error {
	var reqs []kmsg.Request
	var asked []*Lane
	for _, l := range lanes {
		if l.stops && l.identity.Load() != nil {
			c.identified(l) // one for good: asked for by several at once
			continue
		}
		req := kmsg.NewPtrInitProducerIDRequest()
		req.ProducerID, req.ProducerEpoch = -1, -1
		reqs, asked = append(reqs, req), append(asked, l)
	}
	ctx, cancel := context.WithTimeout(ctx, c.pr.cfg.RequestTimeout)
	defer cancel()
	resps, err := c.conn.DoAll(ctx, reqs)
	if err != nil {
		return err
	}
	var errs []error
	for i, l := range asked {
		errs = append(errs, c.identify(l, resps[i].(*kmsg.InitProducerIDResponse)))
	}
	return several(errs...)
}

// identified notes that the lane needs no producer ID any more.
func (c *control) identified(l *Lane) {
	c.mu.Lock()
	delete(c.needID, l)
	c.mu.Unlock()
}

// identify gives a lane the producer ID of a response. What is not transient
// fails the records that wait for it: they can never be sent (K34).
func (c *control) identify(l *Lane, resp *kmsg.InitProducerIDResponse) error {
	if resp.ErrorCode != 0 {
		code := retry.Code(resp.ErrorCode)
		err := fmt.Errorf("producer: no producer id: %w", code)
		if !retry.Classify(code, -1).Backoff {
			l.each(func(p *partition) { p.fail(err) })
		}
		return err
	}
	window, err := conn.SequenceWindowTag(&resp.UnknownTags)
	if err != nil {
		c.pr.log.Warn("broker names an impossible sequence window with the producer id", "err", err)
	}
	id := &identity{producerID: resp.ProducerID, epoch: resp.ProducerEpoch, broker: c.connID, window: window}
	l.identity.Store(id)
	c.pr.latest.Store(id)
	c.identified(l) // also where it was asked for again meanwhile
	c.pr.log.Info("got a producer id", "producer_id", id.producerID, "epoch", id.epoch)
	l.each((*partition).nudge)
	return nil
}
