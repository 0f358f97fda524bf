package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/sluice-kafka/sluice/retry"
)

func TestDialLearnsVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(t, func(p *peer) {
			r := p.want(apiVersionsKey)
			if r.GetVersion() != firstVersion || r.clientID != "tester" {
				t.Errorf("asked with version %d by %q", r.GetVersion(), r.clientID)
			}
			if q := r.Request.(*kmsg.ApiVersionsRequest); q.ClientSoftwareName != "sluice" || q.ClientSoftwareVersion != "1.2.3" {
				t.Errorf("software %q %q", q.ClientSoftwareName, q.ClientSoftwareVersion)
			}
			resp := versionsResponse(r.GetVersion())
			resp.ApiKeys = append(resp.ApiKeys,
				kmsg.ApiVersionsResponseApiKey{ApiKey: 1, MinVersion: 4, MaxVersion: 18},
				kmsg.ApiVersionsResponseApiKey{ApiKey: 61, MinVersion: 3, MaxVersion: 1}, // nonsense
				kmsg.ApiVersionsResponseApiKey{ApiKey: 62, MinVersion: -2, MaxVersion: 1},
				kmsg.ApiVersionsResponseApiKey{ApiKey: -1, MaxVersion: 1},
				kmsg.ApiVersionsResponseApiKey{ApiKey: 9999, MaxVersion: 1},
			)
			p.answer(r, resp)
		})
		c := b.connect()
		defer c.Close()
		if c.Addr() != brokerAddr {
			t.Errorf("Addr() = %q", c.Addr())
		}
		for _, want := range []struct {
			key, ourMax, version int16
			ok                   bool
		}{
			{produceKey, 13, 13, true}, {produceKey, 9, 9, true}, {produceKey, 99, 13, true},
			{1, 18, 18, true}, {1, 4, 4, true}, {1, 3, 0, false},
			{61, 9, 0, false}, {62, 9, 0, false}, {-1, 9, 0, false}, {9999, 9, 0, false}, {77, 9, 0, false},
		} {
			if v, ok := c.Version(want.key, want.ourMax); v != want.version || ok != want.ok {
				t.Errorf("Version(%d, %d) = %d, %v", want.key, want.ourMax, v, ok)
			}
		}
	})
}

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

// K19 goes on after the set-up.
func TestSilentBrokerLater(t *testing.T) {
	for _, req := range []kmsg.Request{kmsg.NewPtrMetadataRequest(), kmsg.NewPtrInitProducerIDRequest()} {
		synctest.Test(t, func(t *testing.T) {
			c := newBroker(t, func(p *peer) { p.hello(); p.gone() }).connect()
			_, err := c.Do(context.Background(), req) // no deadline: Options.Timeout
			wantTimeout(t, err, kmsg.NameForKey(req.Key()))
			_, err = c.Do(context.Background(), req)
			if err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a connection on which a deadline passed was used again: %v", err)
			}
		})
	}
}

func TestDoHonoursItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) { p.hello(); p.gone() }).connect()
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := c.Do(ctx, kmsg.NewPtrMetadataRequest())
		if !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
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

// A broker too old for the version of the question answers in the form of
// version 0, and says what it knows.
func TestVersionsDowngrade(t *testing.T) {
	for _, test := range []struct {
		name  string
		offer []kmsg.ApiVersionsResponseApiKey
		want  int16
	}{
		{"it knows up to 2", []kmsg.ApiVersionsResponseApiKey{{ApiKey: apiVersionsKey, MaxVersion: 2}}, 2},
		{"it lists nothing", nil, 0},
		{"it lists nonsense", []kmsg.ApiVersionsResponseApiKey{{ApiKey: apiVersionsKey, MaxVersion: -7}}, 0},
		{"it claims to know this one", []kmsg.ApiVersionsResponseApiKey{{ApiKey: apiVersionsKey, MaxVersion: 9}}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newBroker(t, func(p *peer) {
					p.answer(p.want(apiVersionsKey), &kmsg.ApiVersionsResponse{ErrorCode: 35, ApiKeys: test.offer})
					r := p.want(apiVersionsKey)
					if r.GetVersion() != test.want {
						t.Errorf("asked again with version %d, want %d", r.GetVersion(), test.want)
					}
					p.answer(r, versionsResponse(r.GetVersion()))
				}).connect()
				defer c.Close()
				if v, _ := c.Version(produceKey, 13); v != 13 {
					t.Errorf("Produce %d", v)
				}
			})
		})
	}
}

// Kafka 0.10 and the like: the code and nothing behind it.
func TestVersionsDowngradeBareCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newBroker(t, func(p *peer) {
			r := p.want(apiVersionsKey)
			p.send([]byte{0, 0, 0, 6, 0, 0, 0, byte(r.correlationID), 0, 35})
			if r = p.want(apiVersionsKey); r.GetVersion() != 0 {
				t.Errorf("asked again with version %d", r.GetVersion())
			}
			p.answer(r, versionsResponse(0))
		}).connect().Close()
	})
}

// However a broker refuses, the questions come to an end.
func TestVersionsRefusedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		b := newBroker(t, func(p *peer) {
			for r := p.read(); r != nil; r = p.read() {
				asked++
				p.answer(r, &kmsg.ApiVersionsResponse{ErrorCode: 35, ApiKeys: []kmsg.ApiVersionsResponseApiKey{{ApiKey: apiVersionsKey, MaxVersion: 99}}})
			}
		})
		_, err := Dial(context.Background(), brokerAddr, b.options())
		if !errors.Is(err, retry.UnsupportedVersion) || asked > firstVersion+1 {
			t.Errorf("after %d questions: %v", asked, err)
		}
	})
}

func TestVersionsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(t, func(p *peer) {
			p.answer(p.want(apiVersionsKey), &kmsg.ApiVersionsResponse{Version: firstVersion, ErrorCode: 42})
			p.gone()
		})
		_, err := Dial(context.Background(), brokerAddr, b.options())
		if !errors.Is(err, retry.InvalidRequest) {
			t.Error(err)
		}
	})
}

// K63: a service that hangs up when it meets a version it does not know is
// asked in the oldest form on a new connection, once; the first is not leaked.
func TestPickyService(t *testing.T) {
	hangUp := func(p *peer) { p.want(apiVersionsKey) }
	t.Run("then answers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker(t, hangUp, func(p *peer) {
				r := p.want(apiVersionsKey)
				if r.GetVersion() != 0 {
					t.Errorf("asked again with version %d", r.GetVersion())
				}
				p.answer(r, versionsResponse(0))
			})
			b.connect().Close()
			if b.dialled != 2 {
				t.Errorf("%d connections", b.dialled)
			}
		})
	})
	t.Run("for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker(t, hangUp, hangUp)
			_, err := Dial(context.Background(), brokerAddr, b.options())
			if !errors.Is(err, io.EOF) || b.dialled != 2 {
				t.Errorf("%d connections: %v", b.dialled, err)
			}
		})
	})
	t.Run("not where brokers are known to answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker(t, hangUp)
			o := b.options()
			o.Modern = true
			if _, err := Dial(context.Background(), brokerAddr, o); !errors.Is(err, io.EOF) || b.dialled != 1 {
				t.Errorf("%d connections: %v", b.dialled, err)
			}
		})
	})
	t.Run("not if it talks nonsense", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker(t, func(p *peer) {
				p.want(apiVersionsKey)
				p.send([]byte("HTTP/1.1 400 Bad Request\r\n"))
			})
			_, err := Dial(context.Background(), brokerAddr, b.options())
			if !errors.Is(err, ErrProtocol) || b.dialled != 1 {
				t.Errorf("%d connections: %v", b.dialled, err)
			}
		})
	})
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

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) {
			p.hello()
			for r := p.read(); r != nil; r = p.read() {
				resp := r.ResponseKind()
				switch resp := resp.(type) {
				case *kmsg.MetadataResponse:
					resp.ClusterID = kmsg.StringPtr("cluster")
				case *kmsg.InitProducerIDResponse:
					resp.ProducerID = 77
				}
				p.answer(r, resp)
			}
		}).connect()
		defer c.Close()
		for range 3 {
			resp, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest())
			if err != nil || *resp.(*kmsg.MetadataResponse).ClusterID != "cluster" || resp.GetVersion() != 13 {
				t.Fatal(err)
			}
			resp, err = c.Do(context.Background(), kmsg.NewPtrInitProducerIDRequest())
			if err != nil || resp.(*kmsg.InitProducerIDResponse).ProducerID != 77 {
				t.Fatal(err)
			}
		}
		_, err := c.Do(context.Background(), kmsg.NewPtrDescribeProducersRequest())
		if !errors.Is(err, ErrNotOffered) {
			t.Error(err)
		}
		if _, err = c.Do(context.Background(), kmsg.NewPtrMetadataRequest()); err != nil {
			t.Errorf("the connection did not survive a request that was never sent: %v", err)
		}
	})
}

// A port that wants a login hangs up on whoever comes without; that is all it
// says, and only the first request can mean it.
func TestLoginWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) { p.hello(); p.want(metadataKey) }).connect()
		_, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest())
		if !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "Metadata: the broker hung up; perhaps the port wants a login") {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) {
			p.hello()
			r := p.want(metadataKey)
			p.answer(r, r.ResponseKind())
			p.want(metadataKey)
		}).connect()
		for range 2 {
			if _, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest()); err != nil && strings.Contains(err.Error(), "login") {
				t.Error(err)
			}
		}
	})
}

// K25: an answer to another request is given to nobody, and the connection is
// at its end.
func TestWrongCorrelationID(t *testing.T) {
	for _, shift := range []int32{-1, 1, 1 << 30} {
		synctest.Test(t, func(t *testing.T) {
			closed := false
			c := newBroker(t, func(p *peer) {
				p.hello()
				r := p.want(metadataKey)
				r.correlationID += shift
				p.answer(r, r.ResponseKind())
				p.gone()
				closed = true
			}).connect()
			_, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest())
			if !errors.Is(err, ErrProtocol) {
				t.Errorf("shifted by %d: %v", shift, err)
			}
			synctest.Wait()
			if !closed {
				t.Error("the connection was kept")
			}
		})
	}
}

// An answer that lies about what it holds ends the connection.
func TestDoUndecodable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) {
			p.hello()
			r := p.want(metadataKey)
			p.send([]byte{0, 0, 0, 8, 0, 0, 0, byte(r.correlationID), 0, 1, 2, 3})
			p.gone()
		}).connect()
		_, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest())
		if !errors.Is(err, ErrProtocol) {
			t.Error(err)
		}
		if _, err := c.Do(context.Background(), kmsg.NewPtrMetadataRequest()); err == nil {
			t.Error("the connection was used again")
		}
	})
}

// The limit of an API holds for the claim already: nothing is waited for, or
// kept, that would be refused afterwards.
func TestDoRefusesOversizedClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) {
			p.hello()
			r := p.want(initProducerIDKey)
			p.send([]byte{0, 0x20, 0, 0, 0, 0, 0, byte(r.correlationID)}) // 2 MiB to come
			p.gone()
		}).connect()
		_, err := c.Do(context.Background(), kmsg.NewPtrInitProducerIDRequest())
		if !errors.Is(err, ErrProtocol) {
			t.Error(err)
		}
	})
}

func TestCorrelationIDsDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) { p.hello(); p.gone() }).connect()
		defer c.Close()
		seen := map[int32]bool{}
		for range 100 {
			id := c.NextCorrelationID()
			if seen[id] {
				t.Fatalf("%d twice", id)
			}
			seen[id] = true
		}
	})
}

func TestSoftwareToken(t *testing.T) {
	for in, want := range map[string]string{
		"sluice": "sluice", "v1.2-rc.1": "v1.2-rc.1", "(devel)": "devel", "": "unknown", "-.-": "unknown",
		"a b/c": "a-b-c", "ümlaut": "mlaut", "x\n\r": "x",
	} {
		if got := softwareToken(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestErrorText(t *testing.T) {
	err := fmt.Errorf("outer: %w", &Error{Addr: "h:1", Op: "read", Err: io.EOF})
	if err.Error() != "outer: conn: h:1: read: EOF" || !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if got := quote("a\nb" + strings.Repeat("x", 1000)); len(got) > 220 || strings.Contains(got, "\n") {
		t.Error(got)
	}
}
