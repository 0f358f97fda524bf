package producer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
)

// Code of the user runs in callbacks, in the handler of the Logger, in the Dialer
// and in the SASL mechanism. It is called under no lock, and may block, panic,
// produce and close.

// guestGrace is how long whoever has to end waits for user code that does not keep
// its context.
const guestGrace = 100 * time.Millisecond

// errGuest is that user code did not return.
var errGuest = errors.New("the Dialer or the login of the configuration does not keep its context")

// handler stands between the producer and the user's slog.Handler: a panic goes no
// further, and Close knows who is in there.
type handler struct {
	slog.Handler
	pr *Producer
}

func (h handler) Enabled(ctx context.Context, level slog.Level) (on bool) {
	defer h.enter()()
	return h.Handler.Enabled(ctx, level)
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	defer h.enter()()
	return h.Handler.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs), h.pr}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name), h.pr}
}

// enter counts a call, until the function that it returns is deferred to its end.
func (h handler) enter() (leave func()) {
	h.pr.guests.Add(1)
	return func() {
		h.pr.guests.Add(-1)
		if recover() != nil {
			h.pr.stats.panics.Add(1)
		}
	}
}

// dial connects to a broker of the cluster.
func (pr *Producer) dial(ctx context.Context, addr string) (*conn.Conn, error) {
	c, _, err := pr.guarded(ctx, addr, func() (*conn.Conn, int, error) {
		c, err := conn.Dial(ctx, addr, pr.connOptions(true))
		return c, 0, err
	})
	return c, err
}

// guarded connects to a broker by connect, which also says to which. It returns
// when ctx ends, whatever the user's Dialer and login do; what they bring later is
// thrown away.
func (pr *Producer) guarded(ctx context.Context, addr string, connect func() (*conn.Conn, int, error)) (*conn.Conn, int, error) {
	type dialled struct {
		c   *conn.Conn
		to  int
		err error
	}
	result := make(chan dialled, 1)
	go func() {
		c, to, err := connect()
		result <- dialled{c, to, err}
	}()
	var d dialled
	select {
	case d = <-result:
	case <-ctx.Done():
		grace := time.NewTimer(guestGrace)
		defer grace.Stop()
		select {
		case d = <-result:
		case <-grace.C:
			go func() {
				if d := <-result; d.c != nil {
					d.c.Abandon()
				}
			}()
			return nil, 0, &conn.Error{Addr: addr, Op: "dial", Err: because(context.Cause(ctx), errGuest)}
		}
	}
	if d.err == nil {
		pr.met(d.c)
	}
	return d.c, d.to, d.err
}
