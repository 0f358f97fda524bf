package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Dial connects to the broker at addr, host:port, and sets the connection up:
// TLS, what the broker speaks, the login. All of it takes Options.Timeout at
// most, less if ctx ends before. The error is an *Error whose Op names the
// stage, with context.DeadlineExceeded in its chain if time ran out.
//
// A peer that hangs up when asked what it speaks is asked once more in the
// oldest form, on a new connection (K63), unless Options.Modern.
func Dial(ctx context.Context, addr string, o Options) (*Conn, error) {
	if err := o.check(); err != nil {
		return nil, &Error{Addr: addr, Op: "dial", Err: err}
	}
	ctx, cancel := withTimeout(ctx, o.timeout())
	defer cancel()
	c, err := dialWith(ctx, addr, &o, firstVersion)
	if hungUpOnVersions(err) && !o.Modern {
		c, err = dialWith(ctx, addr, &o, 0)
	}
	if hungUpOnVersions(err) && o.TLS == nil {
		err = &Error{Addr: addr, Op: versionsOp, Err: fmt.Errorf("the peer hung up; perhaps the port wants TLS, or is no Kafka broker's: %w", errors.Unwrap(err))}
	}
	return c, err
}

func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("not done within %v: %w", d, context.DeadlineExceeded))
}

// dialWith opens a connection and asks with the given version of ApiVersions.
func dialWith(ctx context.Context, addr string, o *Options, version int16) (*Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, &Error{Addr: addr, Op: "dial", Err: err}
	}
	raw, err := o.open(ctx, addr)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, &Error{Addr: addr, Op: "dial", Err: err}
	}
	c := newConn(addr, raw, o)
	err = c.within(ctx, "dial", func() error { return c.setUp(ctx, o, host, version) })
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Conn) setUp(ctx context.Context, o *Options, host string, version int16) error {
	if o.TLS != nil {
		if err := c.startTLS(ctx, o.TLS, host); err != nil {
			return c.fail("tls handshake", err)
		}
	}
	if err := c.learnVersions(o, version); err != nil {
		return err
	}
	if o.SASL == nil {
		return nil
	}
	c.welcome = true
	return c.authenticate(ctx, o.SASL)
}

func (c *Conn) startTLS(ctx context.Context, config *tls.Config, host string) error {
	config = config.Clone()
	if config.ServerName == "" {
		config.ServerName = host
	}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	encrypted := tls.Client(c.raw, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		return explainTLS(err)
	}
	c.use(encrypted)
	return nil
}

// explainTLS adds what is usually behind these two.
func explainTLS(err error) error {
	var foreign tls.RecordHeaderError
	switch {
	case errors.As(err, &foreign):
		return fmt.Errorf("%w: the port does not speak TLS: %w", ErrProtocol, err)
	case hungUp(err):
		return fmt.Errorf("the broker hung up; perhaps the port does not speak TLS: %w", err)
	}
	return err
}
