package faultproxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"
)

// peer is the broker's side: it accepts, and the test reads and writes.
type peer struct {
	listener *net.TCPListener
}

func newPeer(t *testing.T) *peer {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &peer{l}
}

func (p *peer) accept(t *testing.T) *net.TCPConn {
	t.Helper()
	conn, err := p.listener.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func newProxy(t *testing.T, target string) *Proxy {
	t.Helper()
	p, err := Listen(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func connect(t *testing.T, p *Proxy) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// pair returns both ends of a connection through a new proxy.
func pair(t *testing.T) (p *Proxy, client, broker *net.TCPConn) {
	t.Helper()
	target := newPeer(t)
	p = newProxy(t, target.listener.Addr().String())
	client = connect(t, p)
	return p, client, target.accept(t)
}

func send(t *testing.T, conn net.Conn, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if _, err := conn.Write(message(body)); err != nil {
			t.Fatal(err)
		}
	}
}

func expect(t *testing.T, conn net.Conn, bodies ...string) {
	t.Helper()
	for i, body := range bodies {
		want := message(body)
		got := make([]byte, len(want))
		if n, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("message %d: read %q, %v; want %q", i, got[:n], err, want)
		}
	}
}

func expectEnd(t *testing.T, conn net.Conn, want error) {
	t.Helper()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, want) {
		t.Fatalf("read %d bytes, %v; want %v", n, err, want)
	}
}

func TestProxyForwardsAndCounts(t *testing.T) {
	p, client, broker := pair(t)
	send(t, client, "ask", "ask more")
	expect(t, broker, "ask", "ask more")
	send(t, broker, "answer")
	expect(t, client, "answer")

	// A write is counted when it has returned: the end of the stream is behind.
	client.CloseWrite()
	expectEnd(t, broker, io.EOF)
	broker.Close()
	expectEnd(t, client, io.EOF)
	client.Close()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := Stats{Connections: 1, Requests: 2, RequestBytes: 19, Responses: 1, ResponseBytes: 10}
	if got := p.Stats(); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

func TestCutAllResetsBothSides(t *testing.T) {
	target := newPeer(t)
	p := newProxy(t, target.listener.Addr().String())
	client, other := connect(t, p), connect(t, p)
	broker, otherBroker := target.accept(t), target.accept(t)
	// Each has carried something, so each is connected through.
	send(t, broker, "up")
	send(t, otherBroker, "up")
	expect(t, client, "up")
	expect(t, other, "up")

	if n := p.CutAll(); n != 2 {
		t.Errorf("cut %d connections, want 2", n)
	}
	for _, conn := range []net.Conn{client, other, broker, otherBroker} {
		expectEnd(t, conn, syscall.ECONNRESET)
	}
	if n := p.CutAll(); n != 0 {
		t.Errorf("cut %d connections after all were cut", n)
	}
	if s := p.Stats(); s.Cuts != 2 || s.Connections != 2 || s.Open != 0 {
		t.Errorf("stats %+v", s)
	}

	again := connect(t, p)
	send(t, again, "after")
	expect(t, target.accept(t), "after")
}

func TestDropResponses(t *testing.T) {
	p, client, broker := pair(t)
	dropped := make(chan struct{}, 2)
	p.faults.dropped = func() { dropped <- struct{}{} }

	p.DropResponses(true)
	send(t, client, "one", "two")
	expect(t, broker, "one", "two")
	send(t, broker, "answer one", "answer two")
	<-dropped
	<-dropped
	p.DropResponses(false)
	send(t, broker, "answer three")
	expect(t, client, "answer three")
	if s := p.Stats(); s.Dropped != 2 || s.Responses != 1 {
		t.Errorf("stats %+v, want 2 dropped and 1 response", s)
	}
}

func TestDelayAddsTwiceToTheRoundTrip(t *testing.T) {
	p, client, broker := pair(t)
	const d = 20 * time.Millisecond
	p.Delay(d)
	start := time.Now()
	send(t, client, "ask")
	expect(t, broker, "ask")
	send(t, broker, "answer")
	expect(t, client, "answer")
	if took := time.Since(start); took < 2*d {
		t.Errorf("round trip took %v, want at least %v", took, 2*d)
	}
}

// Nothing can be seen not to arrive without waiting for it; that nothing does
// is shown in virtual time. Here: the paused proxy accepts, and all is there
// after Resume.
func TestPausedProxyAcceptsAndResumes(t *testing.T) {
	target := newPeer(t)
	p := newProxy(t, target.listener.Addr().String())
	p.Pause()
	client := connect(t, p)
	broker := target.accept(t)
	send(t, client, "ask")
	send(t, broker, "answer")
	p.Resume()
	expect(t, broker, "ask")
	expect(t, client, "answer")
}

func TestConnectionToDeadTargetIsReset(t *testing.T) {
	target := newPeer(t)
	p := newProxy(t, target.listener.Addr().String())
	target.listener.Close()
	conn, err := net.Dial("tcp", p.Addr())
	if err == nil {
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
}

func TestTargetThatBreaksOffResetsClientAfterWhatCameBefore(t *testing.T) {
	_, client, broker := pair(t)
	send(t, broker, "last words")
	expect(t, client, "last words")
	broker.SetLinger(0)
	broker.Close()
	expectEnd(t, client, syscall.ECONNRESET)
}

// Stragglers (docs/broker-facts.md): with a proxy in between, all that a client
// wrote before it gave up reaches the broker.
func TestAbandonedRequestsStillReachTheTarget(t *testing.T) {
	p, client, broker := pair(t)
	p.Delay(10 * time.Millisecond)
	send(t, client, "first")
	expect(t, broker, "first")
	// One small segment leaves at once: closing with linger 0 discards what the
	// client's own kernel has not sent.
	bodies := []string{"straggler one", "straggler two", "straggler three"}
	if _, err := client.Write(slices.Concat(message(bodies[0]), message(bodies[1]), message(bodies[2]))); err != nil {
		t.Fatal(err)
	}
	client.SetLinger(0)
	client.Close()
	send(t, broker, "answer to nobody")
	expect(t, broker, bodies...)
	expectEnd(t, broker, io.EOF)
}

func TestCloseEndsWhatHangs(t *testing.T) {
	p, client, broker := pair(t)
	send(t, broker, "up")
	expect(t, client, "up")
	p.Delay(time.Hour)
	send(t, client, "never arrives")
	p.Pause()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	expectEnd(t, client, syscall.ECONNRESET)
	expectEnd(t, broker, syscall.ECONNRESET)
	if _, err := net.Dial("tcp", p.Addr()); err == nil {
		t.Error("a closed proxy accepts")
	}
	if err := p.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}
