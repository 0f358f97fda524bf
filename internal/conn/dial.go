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
// TLS, what the broker speaks, the login, Options.Check. All of it takes
// Options.Timeout at most, less if ctx ends before. The error has an *Error in its
// chain whose Op names the stage, with context.DeadlineExceeded in its chain if
// time ran out.
//
// A name with several addresses is reached at the first of them where all of that
// succeeds, and not only the connection: see race.
func Dial(ctx context.Context, addr string, o Options) (*Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return nil, &Error{Addr: addr, Op: "dial", Err: err}
	}
	ctx, cancel := withTimeout(ctx, o.timeout())
	defer cancel()
	targets, err := o.addresses(ctx, host, port)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, &Error{Addr: addr, Op: "dial", Err: err}
	}
	c, _, err := newRace(len(targets), o.timeout()).run(ctx, never, func(ctx context.Context, i int) (*Conn, error) {
		c, err := dialOne(ctx, addr, targets[i], &o)
		var e *Error
		if len(targets) > 1 && errors.As(err, &e) {
			e.Addr += " at " + targets[i]
		}
		return c, err
	})
	return c, inDial(addr, err)
}

// DialAny is Dial for several brokers of which one is enough, in the order in which
// they had better be tried. It returns the number of the one that was reached.
// Nobody is waited for longer than twice Options.Timeout if there are 16 or fewer.
func DialAny(ctx context.Context, addrs []string, o Options) (*Conn, int, error) {
	return newRace(len(addrs), o.timeout()).run(ctx, refusedLogin, func(ctx context.Context, i int) (*Conn, error) {
		return Dial(ctx, addrs[i], o)
	})
}

// refusedLogin: another broker is not tried at once, for accounts are locked by
// many wrong logins.
func refusedLogin(err error) bool { return errors.Is(err, ErrAuth) }

// never: each address of a name is tried, for one of them may be of another cluster.
func never(error) bool { return false }

// inDial makes an *Error of one that is none, as when a dialer outlives its context.
func inDial(addr string, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &Error{Addr: addr, Op: "dial", Err: err}
}

// dialOne connects to the broker at one address of its name. A peer that hangs up
// when asked what it speaks is asked once more in the oldest form, on a new
// connection (K63), unless Options.Modern.
func dialOne(ctx context.Context, addr, target string, o *Options) (*Conn, error) {
	c, err := dialWith(ctx, addr, target, o, firstVersion)
	if hungUpOnVersions(err) && !o.Modern {
		c, err = dialWith(ctx, addr, target, o, 0)
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
func dialWith(ctx context.Context, addr, target string, o *Options, version int16) (*Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, &Error{Addr: addr, Op: "dial", Err: err}
	}
	raw, err := o.open(ctx, target)
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
	if o.SASL != nil {
		c.welcome = true
		if err := c.authenticate(ctx, o.SASL); err != nil {
			return err
		}
	}
	if o.Check != nil {
		return o.Check(ctx, c)
	}
	return nil
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
