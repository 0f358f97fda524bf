package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
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
}

func newFlow(dir direction, src io.Reader, dst io.Writer, faults *faults) *flow {
	return &flow{dir: dir, src: src, dst: dst, faults: faults, line: newLine()}
}

// read puts on the line what src says, until it ends.
func (f *flow) read(ctx context.Context) {
	buf := make([]byte, readBytes)
	for f.faults.passGate(ctx) {
		n, err := f.src.Read(buf)
		if n > 0 && !f.line.put(bytes.Clone(buf[:n]), f.faults.due()) {
			return
		}
		if err != nil {
			f.line.end(!errors.Is(err, io.EOF))
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
		if !sleepUntil(ctx, p.due) || !f.faults.passGate(ctx) {
			return ctx.Err()
		}
		if err := f.deliver(p.data); err != nil {
			return err
		}
	}
}

// deliver writes data, less what is to be dropped. Whether a message is dropped
// is decided here and not when it is read: what is still under way when the
// test says so has not reached the client.
func (f *flow) deliver(data []byte) error {
	decide := func() bool { return f.faults.message(f.dir) }
	for len(data) > 0 {
		run, drop := f.framer.next(data, decide)
		data = data[len(run):]
		if drop {
			continue
		}
		n, err := f.dst.Write(run)
		f.faults.forwarded(f.dir, n)
		if err != nil {
			return err
		}
	}
	return nil
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
