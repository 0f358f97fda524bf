package producertest

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// tap is the server end of a connection. It can be cut from outside, and it
// can be asked for a look: proof that at some moment from now on everything the
// client has sent was read and the client had not closed. A client that
// abandons one connection and goes on with another cannot be told from one that
// uses both at once in any other way, since the end of a connection is seen
// late.
type tap struct {
	net.Conn
	quiet func(look uint64, partial bool) // called by the reading goroutine

	// partial says that part of a request was read. Only the reading
	// goroutine uses it.
	partial bool
	dead    atomic.Bool // no more is written to it
	wasCut  atomic.Bool

	mu           sync.Mutex
	wanted, done uint64 // looks
}

// look asks for one and returns its number. It does not block.
func (t *tap) look() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wanted++
	t.Conn.SetReadDeadline(time.Unix(1, 0)) // wakes a blocked Read
	return t.wanted
}

// Read reads; a look is taken when it would otherwise wait.
func (t *tap) Read(p []byte) (int, error) {
	for {
		if n := t.pending(); n > 0 {
			empty, err := peek(t.Conn)
			if err != nil {
				return 0, err
			}
			if empty {
				t.answer(n)
			}
		}
		n, err := t.Conn.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
}

// pending is the number of the latest look that is still to be taken, or 0.
func (t *tap) pending() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Conn.SetReadDeadline(time.Time{})
	if t.wanted == t.done {
		return 0
	}
	return t.wanted
}

func (t *tap) answer(n uint64) {
	t.mu.Lock()
	t.done = n
	t.mu.Unlock()
	t.quiet(n, t.partial)
}

// cut ends the connection as a crash would: with a reset.
func (t *tap) cut() {
	t.dead.Store(true)
	if t.wasCut.Swap(true) {
		return
	}
	switch c := t.Conn.(type) {
	case *memConn:
		c.cut()
	case *net.TCPConn:
		c.SetLinger(0)
		c.Close()
	}
}

// finish ends the outgoing direction in an orderly way.
func (t *tap) finish() {
	t.dead.Store(true)
	if c, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		c.CloseWrite()
	}
}
