package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
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

// dial connects to a broker. It returns when ctx ends, whatever the user's Dialer
// and login do; what they bring later is thrown away.
func (pr *Producer) dial(ctx context.Context, addr string) (*conn.Conn, error) {
	type dialled struct {
		c   *conn.Conn
		err error
	}
	result := make(chan dialled, 1)
	go func() {
		d := dialled{err: &conn.Error{Addr: addr, Op: "dial", Err: errors.New("the Dialer or the login ended its goroutine")}}
		defer func() {
			if v := recover(); v != nil {
				// What it panics with may hold the login.
				d = dialled{err: &conn.Error{Addr: addr, Op: "dial", Err: fmt.Errorf("the Dialer or the login panicked with a %T", v)}}
				pr.log.Error("the Dialer or the login panicked", "stack", string(debug.Stack()))
			}
			result <- d
		}()
		d.c, d.err = conn.Dial(ctx, addr, pr.connOptions())
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
			return nil, &conn.Error{Addr: addr, Op: "dial", Err: because(context.Cause(ctx), errGuest)}
		}
	}
	// That one which was cut off while it said what it speaks is not taken for an
	// old one, is what modern is remembered for.
	if d.err == nil && d.c.Modern() {
		pr.modern.Store(true)
	}
	return d.c, d.err
}
