package faultproxy

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// link is one connection of a client and the one to the target that belongs to
// it.
type link struct {
	faults *faults
	client *net.TCPConn
	ctx    context.Context // ends with the link
	cancel context.CancelFunc

	deserted  atomic.Bool // the client is gone; the target may not know
	straggler bool        // and is not to, whatever is cut; guarded by Proxy.mu

	mu     sync.Mutex
	target *net.TCPConn // nil until connected
	down   *flow        // responses
	up     *flow        // requests
}

func newLink(client *net.TCPConn, faults *faults) *link {
	l := &link{client: client, faults: faults}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// serve connects to the target and returns when the link has ended: closed by
// both sides, broken off by the target, or reset.
func (l *link) serve(addr string) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(l.ctx, "tcp", addr)
	if err != nil {
		l.reset()
		return
	}
	if !l.connected(conn.(*net.TCPConn)) {
		return
	}
	var all sync.WaitGroup
	all.Go(func() { l.up.read(l.ctx) })
	all.Go(func() { l.down.read(l.ctx) })
	all.Go(l.carryUp)
	all.Go(l.carryDown)
	all.Wait()
	l.close()
}

// connected sets up the flows; false if the link was reset in the meantime.
func (l *link) connected(target *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		abandon(target)
		return false
	}
	l.target = target
	l.up = newFlow(requests, l.client, target, l.faults, &l.deserted)
	l.down = newFlow(responses, target, l.client, l.faults, &l.deserted)
	return true
}

// carryUp hands what the client wrote to the target, all of it, even if the
// client has reset its connection since: that cannot be taken back from a proxy.
func (l *link) carryUp() {
	if l.up.write(l.ctx) != nil || l.target.CloseWrite() != nil {
		l.reset()
	}
}

// carryDown hands what the target wrote to the client. If the client is gone,
// the target is none the wiser and goes on with the requests it has. If the
// target broke off, so does the client's connection, after what came before.
func (l *link) carryDown() {
	if l.down.write(l.ctx) != nil {
		l.down.line.drain()
		return
	}
	if l.deserted.Load() {
		return
	}
	if l.down.line.broken() || l.client.CloseWrite() != nil {
		l.reset()
	}
}

// flows returns both directions, nil before the link is connected.
func (l *link) flows() (up, down *flow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up, l.down
}

// desert resets the client's side alone.
func (l *link) desert() {
	l.deserted.Store(true)
	abandon(l.client)
}

// close ends a link in which nothing is left to carry. The kernel goes on to
// send what it still has.
func (l *link) close() {
	l.cancel()
	_ = l.client.Close()
	_ = l.target.Close()
}

// reset ends the link at once, on both sides. A second call does nothing.
func (l *link) reset() {
	l.cancel()
	abandon(l.client)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.target == nil {
		return
	}
	abandon(l.target)
	l.up.line.reset()
	l.down.line.reset()
}

// abandon closes with a reset: what was not sent is discarded.
func abandon(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}
