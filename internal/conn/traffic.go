package conn

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// traffic is what moves on a connection, for whoever has to tell a slow one from a
// dead one.
type traffic struct {
	begun     time.Time
	lastOut   atomic.Int64 // when, since it began
	lastHeard atomic.Int64
}

func (t *traffic) out(n int64) {
	if n > 0 {
		t.lastOut.Store(int64(time.Since(t.begun)))
	}
}

// reader notes what comes.
type reader struct {
	*traffic
	r io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if n > 0 {
		r.lastHeard.Store(int64(time.Since(r.begun)))
	}
	return n, err
}

// LastWritten is when some bytes were taken off a write, LastHeard when some came, be
// they of half a response. Any goroutine may call them.
func (c *Conn) LastWritten() time.Time {
	return c.traffic.begun.Add(time.Duration(c.traffic.lastOut.Load()))
}

// LastHeard is described at LastWritten.
func (c *Conn) LastHeard() time.Time {
	return c.traffic.begun.Add(time.Duration(c.traffic.lastHeard.Load()))
}

// WhileMoving returns a context that ends with ctx, or once no byte moved for d.
func (c *Conn) WhileMoving(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	began := time.Now()
	go func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			last := began
			for _, moved := range []time.Time{c.LastWritten(), c.LastHeard()} {
				if moved.After(last) {
					last = moved
				}
			}
			left := d - time.Since(last)
			if left <= 0 {
				cancel(fmt.Errorf("nothing came for %v: %w", d, context.DeadlineExceeded))
				return
			}
			timer.Reset(left)
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}
