package producertest

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// memBuffer is what one direction of a connection in memory holds before the
// writer has to wait, as the buffers of a socket do.
const memBuffer = 256 << 10

// memAddr is the address of a broker, or of a client, in memory.
type memAddr string

func (a memAddr) Network() string { return "memory" }
func (a memAddr) String() string  { return string(a) }

// memConn is one end of a full-duplex connection in memory. Unlike net.Pipe it
// buffers, and unlike a socket its waits are durable for testing/synctest.
// After SetLinger(0), Close resets the connection.
type memConn struct {
	in, out       *memPipe
	local, remote memAddr

	mu    sync.Mutex
	reset bool // Close resets
}

// newMemConns returns the two ends of a new connection.
func newMemConns(client, server memAddr) (c, s *memConn) {
	up, down := newMemPipe(), newMemPipe()
	return &memConn{in: down, out: up, local: client, remote: server},
		&memConn{in: up, out: down, local: server, remote: client}
}

func (c *memConn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *memConn) Write(p []byte) (int, error) { return c.out.write(p) }
func (c *memConn) LocalAddr() net.Addr         { return c.local }
func (c *memConn) RemoteAddr() net.Addr        { return c.remote }

// SetLinger is that of *net.TCPConn: with 0, Close resets the connection.
func (c *memConn) SetLinger(sec int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reset = sec == 0
	return nil
}

// Close ends both directions. What was written before stays readable at the
// other end, also after a reset, as on Linux.
func (c *memConn) Close() error {
	c.mu.Lock()
	end := io.EOF
	if c.reset {
		end = syscall.ECONNRESET
	}
	c.mu.Unlock()
	c.out.finish(end, net.ErrClosed)
	c.in.abandon(net.ErrClosed, syscall.ECONNRESET)
	return nil
}

// CloseWrite ends the outgoing direction only, as a FIN.
func (c *memConn) CloseWrite() error {
	c.out.finish(io.EOF, net.ErrClosed)
	return nil
}

// cut resets the connection for the other end, while what that end has written
// stays readable here: the cluster's watch wants to know all that was sent.
func (c *memConn) cut() {
	c.out.finish(syscall.ECONNRESET, net.ErrClosed)
	c.in.stop(syscall.ECONNRESET)
}

func (c *memConn) SetDeadline(t time.Time) error {
	c.in.reader.set(c.in, t)
	c.out.writer.set(c.out, t)
	return nil
}

func (c *memConn) SetReadDeadline(t time.Time) error {
	c.in.reader.set(c.in, t)
	return nil
}

func (c *memConn) SetWriteDeadline(t time.Time) error {
	c.out.writer.set(c.out, t)
	return nil
}

// memPipe is one direction of a memConn.
type memPipe struct {
	mu      sync.Mutex
	changed *sync.Cond
	buf     []byte
	off     int

	readErr  error // at once: the reading end is closed
	writeErr error // at once: nothing more can be written
	end      error // once everything was read

	reader, writer memDeadline
}

func newMemPipe() *memPipe {
	p := new(memPipe)
	p.changed = sync.NewCond(&p.mu)
	return p
}

func (p *memPipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.readErr != nil:
			return 0, p.readErr
		case p.reader.expired():
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		case p.off < len(p.buf):
			n := copy(b, p.buf[p.off:])
			p.off += n
			p.changed.Broadcast()
			return n, nil
		case p.end != nil:
			return 0, p.end
		}
		p.changed.Wait()
	}
}

func (p *memPipe) write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.writeErr != nil:
			return n, p.writeErr
		case p.writer.expired():
			return n, os.ErrDeadlineExceeded
		case len(b) == 0:
			return n, nil
		}
		if room := min(memBuffer-(len(p.buf)-p.off), len(b)); room > 0 {
			p.add(b[:room])
			b, n = b[room:], n+room
			continue
		}
		p.changed.Wait()
	}
}

func (p *memPipe) add(b []byte) {
	if p.off > 0 && len(p.buf)+len(b) > memBuffer {
		p.buf = append(p.buf[:0], p.buf[p.off:]...)
		p.off = 0
	}
	p.buf = append(p.buf, b...)
	p.changed.Broadcast()
}

// finish ends the direction for the writer at once, and for the reader once it
// has read everything.
func (p *memPipe) finish(end, writeErr error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end == nil {
		p.end = end
	}
	if p.writeErr == nil {
		p.writeErr = writeErr
	}
	p.changed.Broadcast()
}

// abandon ends the direction from the reading end.
func (p *memPipe) abandon(readErr, writeErr error) {
	p.mu.Lock()
	p.readErr = readErr
	p.mu.Unlock()
	p.stop(writeErr)
}

func (p *memPipe) stop(err error) { p.finish(err, err) }

func (p *memPipe) quiet() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.off == len(p.buf) && p.end == nil
}

// memDeadline is a read or write deadline, guarded by its pipe's mutex.
type memDeadline struct {
	at    time.Time // zero: none
	timer *time.Timer
}

func (d *memDeadline) expired() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *memDeadline) set(p *memPipe, t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d.at = t
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if !t.IsZero() && !d.expired() {
		d.timer = time.AfterFunc(time.Until(t), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.changed.Broadcast()
		})
	}
	p.changed.Broadcast()
}
