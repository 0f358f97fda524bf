package faultproxy

import (
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// eventually waits for what another goroutine brings about.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	end := time.Now().Add(time.Minute)
	for !done() {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestStragglersArriveAfterTheirClientHasGoneOn(t *testing.T) {
	target := newPeer(t)
	p := newProxy(t, target.listener.Addr().String())
	client, control := connect(t, p), connect(t, p)
	broker, controlBroker := target.accept(t), target.accept(t)
	// Which connection of the broker is whose shows by what arrives.
	send(t, client, produce("before"))
	send(t, control, fetch("before"))
	if first := read(t, broker); first != produce("before") {
		broker, controlBroker = controlBroker, broker
		expect(t, broker, produce("before"))
	} else {
		expect(t, controlBroker, fetch("before"))
	}

	s := p.Straggle()
	send(t, client, produce("one"), fetch("two"), produce("three"))
	eventually(t, "two held", func() bool { return s.Held() == 2 })
	send(t, control, fetch("goes on"))
	expect(t, controlBroker, fetch("goes on"))
	send(t, broker, "answer")
	expect(t, client, "answer")

	if n := s.Cut(); n != 1 {
		t.Errorf("cut %d connections, want 1", n)
	}
	expectEnd(t, client, syscall.ECONNRESET)
	again := connect(t, p)
	send(t, again, produce("one"))
	expect(t, target.accept(t), produce("one"))
	if n := p.CutAll(); n != 2 {
		t.Errorf("cut %d connections, want those of two clients", n)
	}

	s.Release()
	expect(t, broker, produce("one"), fetch("two"), produce("three"))
	expectEnd(t, broker, io.EOF)
	send(t, broker, "answer to nobody", "another")
	eventually(t, "two orphans", func() bool { return p.Stats().Orphans == 2 })
	if st := p.Stats(); st.Stragglers != 2 || st.Responses != 1 {
		t.Errorf("stats %+v, want 2 stragglers and 1 response", st)
	}
}

// read returns the body of the next message.
func read(t *testing.T, conn io.Reader) string {
	t.Helper()
	var size [sizeBytes]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, size[3])
	if _, err := io.ReadFull(conn, body); err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Held requests are lost if nobody releases them, and keep nobody from closing.
func TestCloseEndsStragglers(t *testing.T) {
	p, client, broker := pair(t)
	send(t, client, produce("before"))
	expect(t, broker, produce("before"))
	s := p.Straggle()
	send(t, client, produce("never"))
	eventually(t, "one held", func() bool { return s.Held() == 1 })
	s.Cut()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	expectEnd(t, broker, syscall.ECONNRESET)
}

func TestConnectionWithoutProduceIsNoStraggler(t *testing.T) {
	p, client, broker := pair(t)
	send(t, client, fetch("before"))
	expect(t, broker, fetch("before"))
	s := p.Straggle()
	send(t, client, produce("after"))
	expect(t, broker, produce("after"))
	if n := s.Cut(); n != 0 {
		t.Errorf("cut %d connections, want none", n)
	}
}

func TestHalfOpenRequests(t *testing.T) {
	p, client, broker := pair(t)
	send(t, client, "before")
	expect(t, broker, "before")
	if n := p.HalfOpenRequests(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	send(t, client, "vanishes")
	send(t, broker, "arrives")
	expect(t, client, "arrives")
	eventually(t, "twelve bytes gone", func() bool { return p.Stats().SwallowedBytes == 12 })
	client.CloseWrite()
	expectEnd(t, broker, io.EOF) // and not a byte before it
	if st := p.Stats(); st.HalfOpen != 1 || st.Requests != 1 {
		t.Errorf("stats %+v, want 1 half-open connection and 1 request", st)
	}
}

func TestHalfOpenResponses(t *testing.T) {
	p, client, broker := pair(t)
	send(t, broker, "before")
	expect(t, client, "before")
	p.HalfOpenResponses()
	send(t, broker, "vanishes")
	send(t, client, "arrives")
	expect(t, broker, "arrives")
	eventually(t, "twelve bytes gone", func() bool { return p.Stats().SwallowedBytes == 12 })
	broker.Close()
	expectEnd(t, client, io.EOF)
}

func TestNewConnectionIsNotHalfOpen(t *testing.T) {
	target := newPeer(t)
	p := newProxy(t, target.listener.Addr().String())
	connect(t, p)
	old := target.accept(t)
	send(t, old, "up")
	p.HalfOpenRequests()
	client := connect(t, p)
	send(t, client, "ask")
	expect(t, target.accept(t), "ask")
}

func TestCorruptProduce(t *testing.T) {
	p, client, broker := pair(t)
	p.CorruptProduce(1)
	send(t, client, fetch("aaaa"), produce("aaaa"), produce("aaaa"))
	expect(t, broker, fetch("aaaa"), produce("a`aa"), produce("aaaa"))
	if st := p.Stats(); st.Corrupted != 1 {
		t.Errorf("%d damaged, want 1", st.Corrupted)
	}
}

func TestShutGateHoldsItsFlowAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, requests)
		b.flow.gate.shut()
		b.say(t, "held")
		time.Sleep(100 * ms)
		b.flow.gate.open()
		b.want(t, arrival{"held", 100 * ms})
	})
}
