package producertest

import (
	"fmt"
	"net"
	"sync"
	"syscall"
)

// broker is one broker of a cluster: an address and its connections.
type broker struct {
	cluster  *Cluster
	id       int32
	host     string
	port     int32
	window   int32 // KIP-758; 0: stock
	listener net.Listener

	mu          sync.Mutex
	stopped     bool
	closed      bool
	connections map[*connection]struct{}
}

func newBroker(c *Cluster, id int32) (*broker, error) {
	b := &broker{
		cluster: c, id: id, window: c.cfg.window(id),
		host: fmt.Sprintf("broker-%d.producertest", id), port: 9092,
		connections: make(map[*connection]struct{}),
	}
	if c.cfg.InMemory {
		return b, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("producertest: broker %d: %w", id, err)
	}
	b.listener = l
	b.host, b.port = "127.0.0.1", int32(l.Addr().(*net.TCPAddr).Port)
	return b, nil
}

func (b *broker) accept() {
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return
		}
		if !b.take(conn) {
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}
}

// dialed is the client's end of a new connection in memory.
func (b *broker) dialed() (net.Conn, error) {
	addr := memAddr(fmt.Sprintf("%s:%d", b.host, b.port))
	client, server := newMemConns("client", addr)
	if !b.take(server) {
		return nil, &net.OpError{Op: "dial", Net: addr.Network(), Addr: addr, Err: syscall.ECONNREFUSED}
	}
	return client, nil
}

// take serves a connection, unless the broker is down.
func (b *broker) take(conn net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped || b.closed {
		return false
	}
	c := newConnection(b, conn)
	b.connections[c] = struct{}{}
	b.cluster.running.Go(c.run)
	return true
}

func (b *broker) left(c *connection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.connections, c)
}

func (b *broker) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for c := range b.connections {
		c.tap.cut()
	}
}

func (b *broker) stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.cut()
}

func (b *broker) start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = false
}

func (b *broker) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	if b.listener != nil {
		b.listener.Close()
	}
	b.cut()
}
