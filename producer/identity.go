package producer

import (
	"context"
	"errors"
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

// names reports whether the answer may have been the broker's. Where nobody knows
// which one answered, at the address of a load balancer say, its window is taken
// for each one's: a smaller one than needed costs depth and nothing else.
func (id *identity) names(broker int32) bool { return id.broker < 0 || id.broker == broker }

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
	var first error // one of many lanes says it for all
	for i, l := range asked {
		if err := c.identify(l, resps[i].(*kmsg.InitProducerIDResponse)); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// identified notes that the lane needs no producer ID any more.
func (c *control) identified(l *Lane) {
	c.mu.Lock()
	delete(c.wanted.lanes, l)
	c.mu.Unlock()
}

var errNoID = errors.New("producer: the broker gave a producer id that is none")

// identify gives a lane the producer ID of a response. What is not transient is a
// refusal: the records that wait for the ID get a grace (K34).
func (c *control) identify(l *Lane, resp *kmsg.InitProducerIDResponse) error {
	if code := retry.Code(resp.ErrorCode); code != retry.None {
		if !retry.Classify(code, -1).Backoff || lacksRights(code) {
			return &refusedID{code}
		}
		return fmt.Errorf("producer: no producer id: %w", code)
	}
	if resp.ProducerID < 0 || resp.ProducerEpoch < 0 {
		return fmt.Errorf("%w: %d, epoch %d", errNoID, resp.ProducerID, resp.ProducerEpoch)
	}
	window, err := conn.SequenceWindowTag(&resp.UnknownTags)
	if err != nil {
		c.pr.log.Warn("broker names an impossible sequence window with the producer id", "err", err)
	}
	id := &identity{producerID: resp.ProducerID, epoch: resp.ProducerEpoch, broker: c.connID, window: window}
	c.narrow(id)
	l.identity.Store(id)
	c.identified(l) // also where it was asked for again meanwhile
	c.pr.log.Info("got a producer id", "producer_id", id.producerID, "epoch", id.epoch)
	l.each((*partition).nudge)
	return nil
}

// narrow makes a window known before anything is sent under the ID it came with. A
// connection that was made under a larger one is made anew.
func (c *control) narrow(id *identity) {
	c.pr.latest.Store(id)
	if id.window == 0 {
		return
	}
	for _, b := range *c.pr.senders.Load() {
		if l := b.link.Load(); l != nil && id.names(b.id) && l.limits.Sequences > id.window {
			l.die(errNarrower)
		}
	}
}

var errNarrower = errors.New("the broker named a smaller sequence window meanwhile")
