package conn

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Do sends one request, in the highest version that both sides know, and waits
// for its response. The request's version is set to it. An error code inside
// the response is the caller's to look at.
//
// The context bounds the wait, Options.Timeout does if it has no deadline. On
// any error but ErrNotOffered the connection is abandoned: its stream may be
// out of step, and the request may have been executed. One goroutine calls Do,
// and neither Write nor ReadFrame is in use.
func (c *Conn) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	version, ok := c.Version(req.Key(), req.MaxVersion())
	if !ok {
		return nil, c.fail(kmsg.NameForKey(req.Key()), ErrNotOffered)
	}
	req.SetVersion(version)
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = withTimeout(ctx, c.timeout)
		defer cancel()
	}
	var resp kmsg.Response
	err := c.within(ctx, kmsg.NameForKey(req.Key()), func() (err error) {
		resp, err = c.exchange(req)
		return err
	})
	switch {
	case err == nil:
		c.welcome = true
		return resp, nil
	case !c.welcome && hungUp(err):
		// All that a port that wants a login says to one who does not.
		err = c.fail(stage(err, ""), fmt.Errorf("the broker hung up; perhaps the port wants a login (SASL): %w", errors.Unwrap(err)))
	}
	return nil, err
}

// DoAll is Do for several requests of one API: they are written together, so that
// all of them take about one round trip.
func (c *Conn) DoAll(ctx context.Context, reqs []kmsg.Request) (resps []kmsg.Response, err error) {
	err = c.DoEach(ctx, reqs, func(_ int, resp kmsg.Response) { resps = append(resps, resp) })
	if err != nil {
		return nil, err
	}
	return resps, nil
}

// DoEach is DoAll for responses that are taken one after the other. It gives them to
// take as they come, also if a later one does not.
func (c *Conn) DoEach(ctx context.Context, reqs []kmsg.Request, take func(i int, resp kmsg.Response)) error {
	if len(reqs) == 0 {
		return nil
	}
	name := kmsg.NameForKey(reqs[0].Key())
	if _, ok := c.Version(reqs[0].Key(), reqs[0].MaxVersion()); !ok {
		return c.fail(name, ErrNotOffered)
	}
	return c.within(ctx, name, func() error {
		var out [][]byte
		first := c.correlationID + 1
		for _, req := range reqs {
			out = append(out, c.EncodeRequest(req, c.NextCorrelationID()))
		}
		if _, err := c.out.write(out); err != nil {
			return c.fail(name, err)
		}
		for i, req := range reqs {
			body, err := c.hear(req, first+int32(i))
			if err != nil {
				return err
			}
			resp := req.ResponseKind()
			if err := Decode(resp, body, Limit(req)); err != nil {
				return c.fail(name, err)
			}
			take(i, resp)
		}
		return nil
	})
}

// within runs f and abandons the connection when ctx ends before it, which
// unblocks f, or when f fails. op names the error if f could not.
func (c *Conn) within(ctx context.Context, op string, f func() error) error {
	stop := context.AfterFunc(ctx, c.Abandon)
	err := f()
	if !stop() { // the connection is, or is about to be, abandoned
		return c.fail(stage(err, op), context.Cause(ctx))
	}
	if err != nil {
		c.Abandon()
	}
	return err
}

// stage returns what was being done when err came up.
func stage(err error, op string) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Op
	}
	return op
}

// EncodeRequest encodes a request of the highest version that both sides know,
// for Write; what is asked for must be offered, see Version. The writer
// goroutine calls it.
func (c *Conn) EncodeRequest(req kmsg.Request, correlationID int32) []byte {
	version, _ := c.Version(req.Key(), req.MaxVersion())
	req.SetVersion(version)
	return c.formatter.AppendRequest(nil, req, correlationID)
}

// exchange sends a request and decodes its response.
func (c *Conn) exchange(req kmsg.Request) (kmsg.Response, error) {
	body, err := c.ask(req)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	if err := Decode(resp, body, Limit(req)); err != nil {
		return nil, c.fail(kmsg.NameForKey(req.Key()), err)
	}
	return resp, nil
}

// ask sends a request and returns the body of its response. The buffers are
// new each time, for they may hold a password, and the response keeps them.
func (c *Conn) ask(req kmsg.Request) ([]byte, error) {
	op := kmsg.NameForKey(req.Key())
	want := c.NextCorrelationID()
	if _, err := c.out.write([][]byte{c.formatter.AppendRequest(nil, req, want)}); err != nil {
		return nil, c.fail(op, err)
	}
	return c.hear(req, want)
}

// hear reads the response to a request.
func (c *Conn) hear(req kmsg.Request, want int32) ([]byte, error) {
	op := kmsg.NameForKey(req.Key())
	got, body, err := c.in.next(nil, func() int { return Limit(req) })
	if err != nil {
		return nil, c.fail(op, err)
	}
	if got != want {
		return nil, c.fail(op, protocolErrorf("it answers request %d, not %d", got, want))
	}
	return body, nil
}
