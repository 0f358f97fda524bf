package conn

import (
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Conn is a connection that is set up: encrypted, logged in, and knowing what
// the broker speaks. Each method says which goroutine may call it.
type Conn struct {
	addr      string
	raw       net.Conn // what Options.Dial returned; closed to end everything
	in        frameReader
	out       frameWriter
	formatter *kmsg.RequestFormatter
	timeout   time.Duration
	traffic   traffic

	// secrets of the login, in all their forms, the longest first. Fixed after Dial.
	secrets []string

	correlationID int32 // of the writer
	welcome       bool  // logged in, or a request was answered without

	// Learnt in Dial and fixed after it.
	versions  map[int16]versionRange
	window    int32
	modern    bool // answered in a version that can name a window
	windowErr error
}

func newConn(addr string, raw net.Conn, o *Options) *Conn {
	c := &Conn{
		addr:      addr,
		raw:       raw,
		formatter: kmsg.NewRequestFormatter(kmsg.FormatterClientID(o.ClientID)),
		timeout:   o.timeout(),
		traffic:   traffic{begun: time.Now()},
	}
	for _, s := range o.Secrets {
		c.learn(s)
	}
	c.use(raw)
	return c
}

// use makes rw carry the frames: the transport, or TLS on top of it.
func (c *Conn) use(rw net.Conn) {
	c.in.reset(&c.traffic, rw)
	c.out.reset(&c.traffic, rw)
}

// Addr returns host:port as dialled. Any goroutine may call it.
func (c *Conn) Addr() string { return c.addr }

// NextCorrelationID returns the number of the next request, for the writer.
func (c *Conn) NextCorrelationID() int32 {
	c.correlationID++
	return c.correlationID
}

// Abandon ends the connection at once and throws away what is still to be
// sent. It is the end for a connection with requests in doubt: without linger
// the kernel would go on sending them for minutes, and a broker that gets the
// reset stops earlier to execute what it has received. It shrinks the set of
// stragglers and never empties it (docs/broker-facts.md).
//
// It unblocks the reader and the writer, may be called from any goroutine and
// more than once, and does not block.
func (c *Conn) Abandon() {
	if tcp, ok := c.raw.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // fails on a closed connection, which is what we want
	}
	_ = c.raw.Close()
}

// Close ends a connection on which nothing is outstanding: what was written is
// still sent. Otherwise it is like Abandon.
func (c *Conn) Close() { _ = c.raw.Close() }

func (c *Conn) fail(op string, err error) error {
	return &Error{Addr: c.addr, Op: op, Err: err}
}
