package conn

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/sluice-kafka/sluice/retry"
)

const (
	maxSASLRounds = 8
	maxSASLToken  = 64 << 10
)

// authenticate logs in: the broker is told the mechanism, then client and
// broker exchange its tokens.
func (c *Conn) authenticate(ctx context.Context, m sasl.Mechanism) error {
	if err := c.proposeMechanism(m.Name()); err != nil {
		return err
	}
	session, token, err := m.Authenticate(ctx, c.addr)
	if err != nil {
		return c.fail(authenticateOp, fmt.Errorf("no credentials for %s: %w", m.Name(), err))
	}
	for range maxSASLRounds {
		c.learnToken(m.Name(), token)
		challenge, err := c.exchangeToken(token)
		if err != nil {
			return err
		}
		done, answer, err := session.Challenge(challenge)
		switch {
		case err != nil:
			return c.refused(mechanismError{m.Name(), c.Quote(err.Error()), err})
		case done && len(answer) == 0:
			return nil
		case done:
			c.learnToken(m.Name(), answer)
			_, err = c.exchangeToken(answer)
			return err
		}
		token = answer
	}
	return c.refused(fmt.Errorf("%s did not end after %d rounds", m.Name(), maxSASLRounds))
}

func (c *Conn) proposeMechanism(name string) error {
	const op = "SASLHandshake"
	if v, ok := c.Version(saslHandshakeKey, 1); !ok || v < 1 {
		return c.fail(op, ErrNotOffered)
	}
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Version = 1 // tokens travel inside of requests
	req.Mechanism = name
	answer, err := c.exchange(req)
	if err != nil {
		return err
	}
	resp := answer.(*kmsg.SASLHandshakeResponse)
	switch code := retry.Code(resp.ErrorCode); code {
	case retry.None:
		return nil
	case retry.UnsupportedSASLMechanism:
		return c.fail(op, fmt.Errorf("%w: %w: %s, the broker offers %s",
			ErrAuth, code, name, c.Quote(strings.Join(resp.SupportedMechanisms, ", "))))
	default:
		return c.fail(op, fmt.Errorf("%w: %w", ErrAuth, code))
	}
}

// exchangeToken sends a token and returns the broker's.
func (c *Conn) exchangeToken(token []byte) ([]byte, error) {
	version, ok := c.Version(saslAuthenticateKey, 2)
	if !ok {
		return nil, c.fail(authenticateOp, ErrNotOffered)
	}
	if len(token) > maxSASLToken {
		return nil, c.refused(fmt.Errorf("a token of %d bytes is over the limit of %d", len(token), maxSASLToken))
	}
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.Version = version
	req.SASLAuthBytes = token
	answer, err := c.exchange(req)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.SASLAuthenticateResponse)
	if code := retry.Code(resp.ErrorCode); code != retry.None {
		if resp.ErrorMessage == nil {
			return nil, c.refused(code)
		}
		return nil, c.refused(fmt.Errorf("%w; the broker says %s", code, c.Quote(*resp.ErrorMessage)))
	}
	if n := len(resp.SASLAuthBytes); n > maxSASLToken {
		return nil, c.fail(authenticateOp, protocolErrorf("a token of %d bytes is over the limit of %d", n, maxSASLToken))
	}
	return resp.SASLAuthBytes, nil
}

const authenticateOp = "SASLAuthenticate"

func (c *Conn) refused(err error) error {
	return c.fail(authenticateOp, fmt.Errorf("%w: %w", ErrAuth, err))
}

// mechanismError is what a mechanism made of the broker's token. Its text
// quotes what the broker sent, so that is made safe to show.
type mechanismError struct {
	mechanism, quoted string
	err               error
}

func (e mechanismError) Error() string { return e.mechanism + ": " + e.quoted }
func (e mechanismError) Unwrap() error { return e.err }
