// Package faultproxy is a TCP proxy for tests, to be put between a Kafka client
// and a broker: it cuts connections, one way or both, swallows responses, holds
// requests back until their client is gone, damages them, adds a round trip or
// stands still, when the test says so. It knows where a message of the Kafka
// protocol begins and ends, and which is a Produce request, no more; connections
// must be in plaintext.
//
// A proxy in between makes some faults worse than a network does, which is what
// it is for: it has read requests from a client that the client's closing of
// the connection can no longer take back, and hands them to the broker.
package faultproxy

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Proxy listens on a port of the loopback interface and forwards each
// connection to a target. All methods may be called concurrently.
type Proxy struct {
	target   string
	listener *net.TCPListener
	faults   *faults
	running  sync.WaitGroup // accept loop and links

	mu     sync.Mutex
	links  map[*link]struct{}
	cuts   int
	closed bool
}

// Listen starts a proxy on a free port of 127.0.0.1. The target is dialled anew
// for each connection, so it may be down now and come and go later; a
// connection that finds it down is reset. The caller closes the proxy.
func Listen(target string) (*Proxy, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	p := &Proxy{target: target, listener: l, faults: newFaults(), links: make(map[*link]struct{})}
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the address to connect to, "127.0.0.1:port".
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// CutAll resets all connections, on both sides at once (RST, linger 0), and
// returns how many there were. What the proxy held of them is lost; what a side
// has already received stays received, so the broker may still execute requests
// that arrived before the cut. New connections are served as ever.
// Connections that [Stragglers] have made one-sided are passed over.
func (p *Proxy) CutAll() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		if l.straggler {
			continue
		}
		l.reset()
		delete(p.links, l)
		n++
	}
	p.cuts += n
	return n
}

// DropResponses(true) swallows what brokers send, from now on and until
// DropResponses(false); requests keep flowing and are executed. Only whole
// responses are swallowed: one that has begun to reach the client is finished,
// one that has begun to be swallowed is swallowed to its end. After
// DropResponses(false) a connection that lived through it goes on with a later
// response than its client waits for: a client must notice that by the
// correlation id, unless the connection is cut first.
func (p *Proxy) DropResponses(drop bool) { p.faults.setDropping(drop) }

// Delay makes every byte read from now on arrive d later, in both directions: a
// round trip takes 2d more. It is a line, not a brake: any number of bytes are
// under way at the same time (up to 32 MiB a connection and direction), in
// order. Bytes already under way keep their time, and the others wait for them.
// 0, as at the start, forwards at once.
func (p *Proxy) Delay(d time.Duration) { p.faults.setDelay(d) }

// Pause stops all forwarding, in both directions; connections stay open and new
// ones are accepted, but nothing moves until Resume. The one piece that each
// direction of a connection may be writing at this moment can still arrive. A
// client can go on writing until the kernel's buffers are full. No effect if
// paused.
func (p *Proxy) Pause() { p.faults.gate.shut() }

// Resume lets everything flow again. No effect if not paused.
func (p *Proxy) Resume() { p.faults.gate.open() }

// CorruptProduce damages the next n Produce requests that arrive from clients: one
// bit in the middle is turned, where the records are, so that the broker finds a
// wrong checksum. 0 takes back what has not happened yet.
func (p *Proxy) CorruptProduce(n int) { p.faults.setDamage(n) }

// Stats are counts since the proxy was started.
type Stats struct {
	Connections int // accepted
	Open        int // of them now
	Cuts        int // connections cut by CutAll

	// Requests and Responses are the messages whose first byte was forwarded.
	Requests  int64
	Responses int64
	// Dropped is the number of responses swallowed instead.
	Dropped int64

	// Corrupted is the number of Produce requests damaged.
	Corrupted int64
	// Stragglers is the number of Produce requests forwarded when their client
	// had lost the connection, and Orphans that of the responses which then came
	// for nobody: the broker has served as many requests of clients that are gone.
	Stragglers int64
	Orphans    int64
	// HalfOpen is the number of connections that were made half-open, and
	// SwallowedBytes what vanished in them.
	HalfOpen       int
	SwallowedBytes int64

	RequestBytes  int64 // forwarded to the broker
	ResponseBytes int64 // forwarded to the client
}

// Stats returns the counts as they are now.
func (p *Proxy) Stats() Stats {
	s := p.faults.counts()
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Open, s.Cuts = len(p.links), p.cuts
	return s
}

// Close stops listening, resets all connections and returns when no goroutine
// of the proxy is left. A second call does nothing.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	p.mu.Lock()
	p.closed = true
	for l := range p.links {
		l.reset()
	}
	p.mu.Unlock()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.AcceptTCP()
		if err != nil {
			return
		}
		l := newLink(conn, p.faults)
		if !p.add(l) {
			l.reset()
			return
		}
		p.running.Go(func() {
			l.serve(p.target)
			p.remove(l)
		})
	}
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.links[l] = struct{}{}
	p.faults.connected()
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}
