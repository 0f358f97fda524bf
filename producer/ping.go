package producer

import (
	"context"
	"fmt"
)

// Ping waits until a broker has answered and given a producer ID, so that
// addresses, TLS, credentials and the right to produce are known to be good. If
// ctx ends first its error is returned with the latest reason. What was learnt
// is in Stats.
func (pr *Producer) Ping(ctx context.Context) error {
	from := pr.control.done.Load()
	pr.control.refresh()
	err := pr.delivery.await(ctx, func() bool {
		return pr.closing.Load() || pr.control.done.Load() > from && pr.identity.Load() != nil
	})
	switch {
	case pr.closing.Load():
		return fmt.Errorf("producer: ping: %w", ErrClosed)
	case err != nil:
		return fmt.Errorf("producer: ping: %w", because(err, pr.control.lastError()))
	}
	return nil
}
