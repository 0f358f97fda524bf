package conn

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// peer is the broker's end of a connection in a test. Its methods return
// false, or nil, once the client has gone.
type peer struct {
	t testing.TB
	net.Conn
}

// request is one request as a peer read it.
type request struct {
	correlationID int32
	clientID      string
	kmsg.Request
}

// read reads the next request, nil if there is none.
func (p *peer) read() *request {
	var head [4]byte
	if _, err := io.ReadFull(p, head[:]); err != nil {
		return nil
	}
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(p, frame); err != nil {
		return nil
	}
	r := &request{
		Request:       kmsg.RequestForKey(int16(binary.BigEndian.Uint16(frame))),
		correlationID: int32(binary.BigEndian.Uint32(frame[4:])),
	}
	r.SetVersion(int16(binary.BigEndian.Uint16(frame[2:])))
	rest := frame[8:]
	if r.Key() != apiVersionsKey || r.GetVersion() > 0 {
		n := 2 + int(binary.BigEndian.Uint16(rest))
		r.clientID, rest = string(rest[2:n]), rest[n:]
	}
	if r.IsFlexible() {
		rest = rest[1:] // no header tags
	}
	if err := r.ReadFrom(rest); err != nil {
		p.t.Errorf("peer: %v", err)
		return nil
	}
	return r
}

// want reads the next request, which must be of the API key.
func (p *peer) want(key int16) *request {
	r := p.read()
	if r == nil {
		p.t.Errorf("peer: no %s request", kmsg.NameForKey(key))
		return nil
	}
	if r.Key() != key {
		p.t.Errorf("peer: got a request %s, want %s", kmsg.NameForKey(r.Key()), kmsg.NameForKey(key))
		return nil
	}
	return r
}

func (p *peer) send(b []byte) bool {
	_, err := p.Write(b)
	return err == nil
}

func (p *peer) answer(r *request, resp kmsg.Response) bool {
	return p.send(frame(r.correlationID, resp))
}

// gone waits until the client has closed the connection.
func (p *peer) gone() { _, _ = io.Copy(io.Discard, p) }

// sleep waits in virtual time.
func (p *peer) sleep(d time.Duration) { time.Sleep(d) }

// frame is a response as it goes over the wire.
func frame(correlationID int32, resp kmsg.Response) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(correlationID))
	if resp.IsFlexible() && resp.Key() != apiVersionsKey {
		b = append(b, 0)
	}
	b = resp.AppendTo(b)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// versionsResponse offers the APIs of the tests.
func versionsResponse(version int16) *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.Version = version
	for key, upTo := range map[int16]int16{
		produceKey: 13, metadataKey: 13, saslHandshakeKey: 1, apiVersionsKey: 4, initProducerIDKey: 5, saslAuthenticateKey: 2,
	} {
		resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: upTo})
	}
	return resp
}

// hello answers the first question of a client.
func (p *peer) hello() bool {
	r := p.want(apiVersionsKey)
	return r != nil && p.answer(r, versionsResponse(r.GetVersion()))
}

// broker is a Dial function: the n-th connection is served by the n-th script,
// and closed by the broker when the script returns.
type broker struct {
	t       testing.TB
	scripts []func(*peer)
	dialled int
	served  sync.WaitGroup
}

func newBroker(t testing.TB, scripts ...func(*peer)) *broker {
	b := &broker{t: t, scripts: scripts}
	t.Cleanup(b.served.Wait)
	return b
}

func (b *broker) dial(context.Context, string, string) (net.Conn, error) {
	if b.dialled == len(b.scripts) {
		b.t.Fatalf("connection %d, only %d expected", b.dialled+1, len(b.scripts))
	}
	client, server := net.Pipe()
	script := b.scripts[b.dialled]
	b.dialled++
	b.served.Go(func() {
		script(&peer{b.t, server})
		_ = server.Close()
	})
	return client, nil
}

const brokerAddr = "broker.example:9092"

func (b *broker) options() Options {
	return Options{ClientID: "tester", SoftwareName: "sluice", SoftwareVersion: "1.2.3", Dial: b.dial, Timeout: 10 * time.Second}
}

// connect dials the broker, which must succeed.
func (b *broker) connect() *Conn {
	b.t.Helper()
	c, err := Dial(context.Background(), brokerAddr, b.options())
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}
