package producer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/retry"
)

// Ping waits until a broker has answered and given a producer ID, so that
// addresses, TLS, credentials and the right to produce are known to be good. A
// broker that refuses the login, a certificate that does not hold, and a missing
// right end the wait at once; everything else may still come right, until ctx
// ends, and then the latest reason is in the error. What was learnt is in Stats.
func (pr *Producer) Ping(ctx context.Context) error {
	c := &pr.control
	done, rounds := c.done.Load(), c.rounds.Load()
	c.refresh()
	refused := func() bool { return c.rounds.Load() > rounds && final(c.lastError()) }
	err := pr.delivery.await(ctx, func() bool {
		return pr.closing.Load() || refused() || c.done.Load() > done && pr.main.identity.Load() != nil
	})
	switch {
	case pr.closing.Load():
		return fmt.Errorf("producer: ping: %w", ErrClosed)
	case err != nil:
		return fmt.Errorf("producer: ping: %w", because(err, c.lastError()))
	case refused():
		return fmt.Errorf("producer: ping: %w", c.lastError())
	}
	return nil
}

// final says whether the reason is one that time does not mend.
func final(err error) bool {
	var cert *tls.CertificateVerificationError
	return errors.Is(err, conn.ErrAuth) || errors.As(err, &cert) ||
		errors.Is(err, retry.ClusterAuthorizationFailed) || errors.Is(err, retry.TopicAuthorizationFailed)
}
