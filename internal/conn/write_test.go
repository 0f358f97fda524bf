package conn

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// tcpPair is a connection over the loopback interface.
func tcpPair(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); s.Close() })
	// Only so that a broken test ends; nothing below waits for it.
	s.SetDeadline(time.Now().Add(time.Minute))
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

// pieces is a vector of requests with pieces of all sizes.
func pieces() (vec [][]byte, whole []byte) {
	for i, n := range []int{0, 1, 50, 4000, 16 << 10, 9, 70_000, 12_000, 12_000, 16<<10 - 1, 3, 16<<10 + 1, 0, 200_000} {
		piece := bytes.Repeat([]byte{byte(i + 1)}, n)
		vec, whole = append(vec, piece), append(whole, piece...)
	}
	return vec, whole
}

// counted counts the writes that reach the transport.
type counted struct {
	net.Conn
	writes int
}

func (c *counted) Write(b []byte) (int, error) {
	c.writes++
	return c.Conn.Write(b)
}

func TestWrite(t *testing.T) {
	for _, vectored := range []bool{true, false} {
		t.Run(fmt.Sprintf("vectored=%v", vectored), func(t *testing.T) {
			client, server := tcpPair(t)
			c := newConn("tcp", client, &Options{})
			if !vectored {
				c.use(&counted{Conn: client})
			}
			if c.out.vectored != vectored {
				t.Fatalf("vectored: %v", c.out.vectored)
			}
			vec, whole := pieces()
			const times = 3
			got := make(chan []byte, 1)
			go func() { b, _ := io.ReadAll(server); got <- b }()
			for range times {
				wrote, err := c.Write(vec)
				if err != nil || wrote != int64(len(whole)) {
					t.Errorf("wrote %d of %d: %v", wrote, len(whole), err)
				}
			}
			if same, _ := pieces(); !equalPieces(vec, same) {
				t.Error("Write changed the vector")
			}
			c.Close()
			if b := <-got; !bytes.Equal(b, bytes.Repeat(whole, times)) {
				t.Errorf("%d bytes came, not the %d sent", len(b), times*len(whole))
			}
		})
	}
}

func equalPieces(a, b [][]byte) bool {
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// Under TLS a write is a record, so small pieces travel together and large
// ones are not copied. Each goes in steps.
func TestWriteCoalesces(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	go io.Copy(io.Discard, server)
	w := &counted{Conn: client}
	defer w.Close()
	c := newConn("pipe", w, &Options{})
	var vec [][]byte
	for range 64 {
		vec = append(vec, make([]byte, 1<<10))
	}
	vec = append(vec, make([]byte, 1<<20), make([]byte, 10))
	if _, err := c.Write(vec); err != nil {
		t.Fatal(err)
	}
	if want := 4 + 1<<20/stepBytes + 1; w.writes != want {
		t.Errorf("%d writes, want %d", w.writes, want)
	}
}

// A batch must be collectable although the connection that wrote it lives on.
func TestWriteKeepsNothing(t *testing.T) {
	client, server := tcpPair(t)
	go io.Copy(io.Discard, server)
	c := newConn("tcp", client, &Options{})
	vec, _ := pieces()
	if _, err := c.Write(vec); err != nil {
		t.Fatal(err)
	}
	forgotten := func(when string) {
		for _, piece := range c.out.pieces[:cap(c.out.pieces)] {
			if piece != nil {
				t.Fatalf("a piece is still referenced after %s", when)
			}
		}
		if c.out.rest != nil {
			t.Fatalf("the rest is still referenced after %s", when)
		}
	}
	forgotten("a write")
	c.Abandon()
	if _, err := c.Write(vec); err == nil {
		t.Fatal("no error")
	}
	forgotten("a failed write")
}

func TestWriteAllocatesNothing(t *testing.T) {
	client, server := tcpPair(t)
	go io.Copy(io.Discard, server)
	c := newConn("tcp", client, &Options{})
	vec := [][]byte{make([]byte, 40), make([]byte, 8000), make([]byte, 20), make([]byte, 8000)}
	for name, rw := range map[string]net.Conn{"vectored": client, "coalesced": &counted{Conn: client}} {
		c.use(rw)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := c.Write(vec); err != nil {
				t.Fatal(err)
			}
		}); n >= 1 {
			t.Errorf("%s: %v allocations a write", name, n)
		}
	}
}

// wrote == 0 is the caller's proof that no broker can have seen the request.
func TestWriteOnAClosedConnection(t *testing.T) {
	for _, vectored := range []bool{true, false} {
		client, _ := tcpPair(t)
		c := newConn("tcp", client, &Options{})
		if !vectored {
			c.use(&counted{Conn: client})
		}
		c.Abandon()
		vec, _ := pieces()
		wrote, err := c.Write(vec)
		var e *Error
		if wrote != 0 || !errors.Is(err, net.ErrClosed) || !errors.As(err, &e) || e.Op != "write" {
			t.Errorf("vectored %v: wrote %d, %v", vectored, wrote, err)
		}
	}
}

// broken writes only the first bytes.
type broken struct {
	net.Conn
	left int
}

var errBroken = errors.New("broken")

func (b *broken) Write(p []byte) (int, error) {
	if len(p) <= b.left {
		b.left -= len(p)
		return len(p), nil
	}
	n := b.left
	b.left = 0
	return n, errBroken
}

// K23, writing: what was written is counted to the byte, and nothing is
// written behind half a request.
func TestWriteCutAtEveryByte(t *testing.T) {
	vec := [][]byte{[]byte("header"), make([]byte, coalesceBytes), []byte("header"), []byte("tail")}
	total := 0
	for _, piece := range vec {
		total += len(piece)
	}
	for _, cut := range []int{0, 1, 5, 6, 7, 1000, coalesceBytes + 5, coalesceBytes + 6, coalesceBytes + 7, total - 1} {
		w := &broken{left: cut}
		c := newConn("broken", w, &Options{})
		wrote, err := c.Write(vec)
		if wrote != int64(cut) || !errors.Is(err, errBroken) {
			t.Errorf("cut after %d: wrote %d, %v", cut, wrote, err)
		}
		w.left = 1 << 20
		if wrote, err = c.Write(vec); wrote != 0 || !errors.Is(err, errBroken) {
			t.Errorf("cut after %d: wrote %d more, %v", cut, wrote, err)
		}
	}
}

// A failed write leaves the reader alone: the broker may have answered what
// came before it.
func TestReaderOutlivesWriter(t *testing.T) {
	client, server := tcpPair(t)
	c := newConn("tcp", client, &Options{})
	if _, err := server.Write(rawFrame(3, []byte("last words"))); err != nil {
		t.Fatal(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([][]byte{[]byte("x")}); err == nil {
		t.Fatal("no error")
	}
	if id, body, err := c.ReadFrame(nil, upTo(1<<20)); err != nil || id != 3 || string(body) != "last words" {
		t.Errorf("%d, %q, %v", id, body, err)
	}
}

// Abandon throws away what is unsent and resets; Close sends it and ends.
func TestAbandonResetsCloseDoesNot(t *testing.T) {
	for _, abandon := range []bool{true, false} {
		client, server := tcpPair(t)
		c := newConn("tcp", client, &Options{})
		if _, err := c.Write([][]byte{[]byte("request")}); err != nil {
			t.Fatal(err)
		}
		if abandon {
			c.Abandon()
		} else {
			c.Close()
		}
		got, err := io.ReadAll(server)
		if abandon && err == nil {
			t.Error("Abandon ended the connection as if nothing were in doubt")
		}
		if !abandon && (err != nil || string(got) != "request") {
			t.Errorf("Close: %q, %v", got, err)
		}
	}
}

// Reader and writer are unblocked on a real socket, too, whose buffers are
// full and whose peer is silent.
func TestAbandonUnblocksSocket(t *testing.T) {
	client, _ := tcpPair(t)
	c := newConn("tcp", client, &Options{})
	failed := make(chan error, 2)
	go func() { _, _, err := c.ReadFrame(nil, upTo(1<<20)); failed <- err }()
	go func() {
		var err error
		for err == nil {
			_, err = c.Write([][]byte{make([]byte, 1<<20)})
		}
		failed <- err
	}()
	c.Abandon()
	for range 2 {
		if err := <-failed; err == nil {
			t.Error("no error")
		}
	}
}
