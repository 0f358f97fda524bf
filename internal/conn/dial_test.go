package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// K19: a broker that takes everything and says nothing, at each stage.
func TestSilentBroker(t *testing.T) {
	silent := func(p *peer) { p.gone() }
	afterVersions := func(p *peer) { p.hello(); p.gone() }
	afterHandshake := func(p *peer) {
		p.hello()
		p.answer(p.want(saslHandshakeKey), &kmsg.SASLHandshakeResponse{Version: 1})
		p.gone()
	}
	drip := func(p *peer) {
		r := p.want(apiVersionsKey)
		for _, octet := range frame(r.correlationID, versionsResponse(r.GetVersion())) {
			if p.sleep(time.Second); !p.send([]byte{octet}) {
				return
			}
		}
		t.Error("a byte a second was waited for to the end")
	}
	deaf := func(p *peer) { p.sleep(time.Hour) } // does not even read
	login := plain.Auth{User: "u", Pass: "p"}.AsMechanism()
	for _, test := range []struct {
		name, op string
		script   func(*peer)
		change   func(*Options)
	}{
		{"tls", "tls handshake", silent, func(o *Options) { o.TLS = &tls.Config{} }},
		{"versions", "ApiVersions", silent, func(*Options) {}},
		{"versions byte by byte", "ApiVersions", drip, func(*Options) {}},
		{"not reading", "ApiVersions", deaf, func(*Options) {}},
		{"sasl handshake", "SASLHandshake", afterVersions, func(o *Options) { o.SASL = login }},
		{"sasl token", "SASLAuthenticate", afterHandshake, func(o *Options) { o.SASL = login }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newBroker(t, test.script).options()
				test.change(&o)
				start := time.Now()
				_, err := Dial(context.Background(), brokerAddr, o)
				wantTimeout(t, err, test.op)
				if waited := time.Since(start); waited != o.Timeout {
					t.Errorf("gave up after %v, want %v", waited, o.Timeout)
				}
			})
		})
	}
}

func wantTimeout(t *testing.T, err error, op string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Op != op || e.Addr != brokerAddr || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want a deadline passed in %q", err, op)
	}
	if !strings.Contains(err.Error(), "10s") {
		t.Errorf("%q does not say how long it waited", err)
	}
}

func TestDialHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newBroker(t).options()
		o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		_, err := Dial(context.Background(), brokerAddr, o)
		wantTimeout(t, err, "dial")
	})
}

func TestDialRefusals(t *testing.T) {
	refused := errors.New("no route")
	o := Options{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused }}
	for addr, o := range map[string]Options{
		brokerAddr:         o,
		"no port":          {},
		"broker:1:2":       {},
		"long.example:909": {ClientID: strings.Repeat("x", 40_000)},
	} {
		c, err := Dial(context.Background(), addr, o)
		var e *Error
		if c != nil || !errors.As(err, &e) || e.Op != "dial" || e.Addr != addr {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if _, err := Dial(context.Background(), brokerAddr, o); !errors.Is(err, refused) {
		t.Error(err)
	}
}

// K23: wherever in its first answer the broker hangs up, Dial ends with an
// error that says so.
func TestDialCutAtEveryByte(t *testing.T) {
	size := len(frame(1, versionsResponse(firstVersion)))
	for cut := range size {
		synctest.Test(t, func(t *testing.T) {
			script := func(p *peer) {
				r := p.want(apiVersionsKey)
				p.send(frame(r.correlationID, versionsResponse(firstVersion))[:cut])
			}
			b := newBroker(t, script, script)
			_, err := Dial(context.Background(), brokerAddr, b.options())
			want := io.ErrUnexpectedEOF
			if cut == 0 {
				want = io.EOF
			}
			if !errors.Is(err, want) {
				t.Errorf("cut after %d bytes: %v", cut, err)
			}
		})
	}
}
