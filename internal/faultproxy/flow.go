package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// direction of a flow, as a Kafka client sees it.
type direction bool

const (
	requests  direction = false
	responses direction = true
)

// readBytes is the size of one read.
const readBytes = 64 << 10

// flow carries the bytes of one direction of one connection.
type flow struct {
	dir    direction
	src    io.Reader
	dst    io.Writer
	faults *faults
	line   *line
	framer framer

	gate     gate         // holds back what is on the line
	dead     atomic.Bool  // what comes off the line arrives nowhere
	deserted *atomic.Bool // the client is gone; shared by both directions
	came     scanner      // follows the requests read, and
	went     scanner      // those written
}

func newFlow(dir direction, src io.Reader, dst io.Writer, faults *faults, deserted *atomic.Bool) *flow {
	return &flow{dir: dir, src: src, dst: dst, faults: faults, line: newLine(), deserted: deserted}
}

// held is the number of Produce requests that were read and have not begun to
// be written.
func (f *flow) held() int { return int(f.came.produce.Load() - f.went.produce.Load()) }

// read puts on the line what src says, until it ends.
func (f *flow) read(ctx context.Context) {
	buf := make([]byte, readBytes)
	for f.faults.gate.pass(ctx) {
		n, err := f.src.Read(buf)
		if f.dir == requests {
			f.came.follow(buf[:n], f.faults.corrupt)
		}
		if n > 0 && !f.line.put(bytes.Clone(buf[:n]), f.faults.due()) {
			return
		}
		if err != nil {
			broke := !errors.Is(err, io.EOF)
			if broke && f.dir == requests {
				f.deserted.Store(true)
			}
			f.line.end(broke)
			return
		}
	}
}

// write hands to dst what comes off the line when it is due, to the end of the
// line. An error is dst's or ctx's.
func (f *flow) write(ctx context.Context) error {
	for {
		p, ok := f.line.take()
		if !ok {
			return ctx.Err()
		}
		if !sleepUntil(ctx, p.due) || !f.faults.gate.pass(ctx) || !f.gate.pass(ctx) {
			return ctx.Err()
		}
		if f.dead.Load() {
			f.faults.swallowed(len(p.data))
			continue
		}
		if err := f.deliver(p.data); err != nil {
			return err
		}
	}
}

// deliver writes data, less what is to be dropped. Whether a message is dropped
// is decided here and not when it is read: what is still under way when the
// test says so has not reached the client. A client that is gone is no error.
func (f *flow) deliver(data []byte) error {
	decide := func() bool { return f.faults.message(f.dir, f.deserted.Load()) }
	for len(data) > 0 {
		run, drop := f.framer.next(data, decide)
		data = data[len(run):]
		if drop {
			continue
		}
		late := f.deserted.Load()
		n, err := f.dst.Write(run)
		f.faults.forwarded(f.dir, n)
		switch {
		case err == nil:
		case f.dir == responses:
			f.deserted.Store(true)
			f.dst = io.Discard
		default:
			return err
		}
		f.delivered(run, late)
	}
	return nil
}

// delivered counts the Produce requests in run; late says that their client was
// gone.
func (f *flow) delivered(run []byte, late bool) {
	if f.dir == responses {
		return
	}
	before := f.went.produce.Load()
	f.went.follow(run, nil)
	if late {
		f.faults.straggled(f.went.produce.Load() - before)
	}
}

// sleepUntil returns when it is t, false if ctx ends first.
func sleepUntil(ctx context.Context, t time.Time) bool {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
