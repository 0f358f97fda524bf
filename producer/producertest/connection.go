package producertest

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// connection is one client's connection to one broker. One goroutine reads
// ahead, so that the watch knows what was sent before an answer; another serves
// one request at a time, in order, as Kafka's SocketServer does.
type connection struct {
	id      int64
	broker  *broker
	cluster *Cluster
	tap     *tap
	net     net.Conn // the tap, or TLS over it
	inbox   *inbox
	gone    chan struct{} // closed when nothing more can be read
	peer    *peer
	auth    auth

	// Only the serving goroutine uses these.
	produced   int64 // Produce requests served
	answered   int64
	straggling bool // cut, but what was received is still executed
}

func newConnection(b *broker, conn net.Conn) *connection {
	c := &connection{
		id: b.cluster.connections.Add(1), broker: b, cluster: b.cluster,
		tap: &tap{Conn: conn}, inbox: newInbox(), gone: make(chan struct{}),
	}
	c.net = c.tap
	if cfg := c.cluster.cfg.TLS; cfg != nil {
		c.net = tls.Server(c.tap, cfg)
	}
	c.auth.users = c.cluster.cfg.Users
	c.peer = c.cluster.watch.connected(c.id, c.tap)
	return c
}

// run serves the connection until it ends.
func (c *connection) run() {
	var reading sync.WaitGroup
	reading.Go(c.read)
	for r := c.inbox.pop(); r != nil; r = c.inbox.pop() {
		if !c.handle(r) {
			break
		}
	}
	c.inbox.drop()
	reading.Wait()
	c.net.Close()
	c.broker.left(c)
}

// read reads requests until the connection ends. What it reads after the
// connection was cut is still shown to the watch.
func (c *connection) read() {
	br := bufio.NewReaderSize(c.net, 64<<10)
	for {
		frame, err := readFrame(br, c.tap, c.cluster.cfg.MaxRequestBytes)
		var r *request
		if err == nil {
			r, err = parseRequest(frame, c.cluster.versions)
		}
		if err != nil {
			c.ended(err)
			return
		}
		if r.produce != nil {
			c.cluster.receive(c, r.produce)
		}
		c.inbox.push(r)
	}
}

// ended is for a connection that gives no more requests. Those before are
// still served, unless what came is no request: then it is cut, as Kafka does.
func (c *connection) ended(err error) {
	_, inMemory := c.tap.Conn.(*memConn)
	whole := !c.tap.partial && (errors.Is(err, io.EOF) || inMemory)
	c.cluster.watch.ended(c.peer, whole)
	close(c.gone)
	c.inbox.close()
	if errors.Is(err, errRequest) {
		c.tap.cut()
	}
}

// handle serves one request and reports whether to go on.
func (c *connection) handle(r *request) bool {
	if c.tap.dead.Load() && !c.straggling {
		return false
	}
	m, ok := c.serve(r)
	if !ok {
		c.tap.cut()
		return false
	}
	if m == nil || c.tap.dead.Load() {
		return true
	}
	return c.answer(r, m)
}

// answer sends a response, after the hook has seen it.
func (c *connection) answer(r *request, m kmsg.Response) bool {
	c.answered++
	a := newResponse(c, r, m)
	c.cluster.hooks.response(a)
	if a.Throttle > 0 {
		if t, ok := m.(kmsg.SetThrottleResponse); ok {
			t.SetThrottle(int32(a.Throttle.Milliseconds()))
		}
	}
	if !c.pause(a.Delay) || a.Withhold {
		return a.Withhold
	}
	frame := a.frame()
	if a.intact(frame) {
		// Before it is written: what comes in from now on may have been sent
		// after the client saw it.
		c.cluster.watch.answered(c.peer, r, m)
	}
	return c.write(a, frame) && c.pause(a.Throttle)
}

// write sends the frame as the hook wants it, and reports whether to go on.
func (c *connection) write(a *Response, frame []byte) bool {
	short := a.CutAfter >= 0
	if short {
		frame = frame[:min(a.CutAfter, len(frame))]
	}
	for range 1 + a.Repeat {
		if _, err := c.net.Write(frame); err != nil {
			return false
		}
	}
	switch {
	case short && a.Orderly:
		c.tap.finish()
	case short:
		c.tap.cut()
	}
	return !short
}

// pause waits, and reports false if the cluster was closed meanwhile. A muted
// channel (KIP-219) is just a pause after the response.
func (c *connection) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	return await(c, t.C)
}

// await waits for a channel, and reports false if the cluster was closed first.
func await[T any](c *connection, until <-chan T) bool {
	select {
	case <-until:
		return true
	case <-c.cluster.done:
		return false
	}
}
