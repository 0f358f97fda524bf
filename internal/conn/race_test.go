package conn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/retry"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// The order of a race, without any connection: what begins at which moment.
func TestRaceOrder(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	r := newRace(7, 10*time.Second)
	begins := func(ms, want int) {
		t.Helper()
		if i, ok, _ := r.begin(at(ms)); !ok || i != want {
			t.Fatalf("at %d ms: candidate %d, %v, want %d", ms, i, ok, want)
		}
	}
	waits := func(ms, until int) {
		t.Helper()
		_, ok, again := r.begin(at(ms))
		if ok || until < 0 && !again.IsZero() || until >= 0 && !again.Equal(at(until)) {
			t.Fatalf("at %d ms: begins %v, again at %v, want %d", ms, ok, again.Sub(start), until)
		}
	}
	begins(0, 0)
	waits(0, 250)
	begins(250, 1)
	r.failed(1)
	begins(300, 2) // at once behind a failure
	waits(300, 550)
	begins(550, 3)
	begins(800, 4)
	waits(1050, 2500) // four young ones: the first keeps its place for a quarter
	begins(2500, 5)
	waits(2750, 2800)
	r.failed(0) // has no place any more
	waits(2760, 2800)
	begins(2800, 6)
	waits(9000, -1)
	for _, i := range []int{2, 3, 4, 5} {
		if r.failed(i) {
			t.Fatal("over too early")
		}
	}
	if !r.failed(6) {
		t.Fatal("not over")
	}
}

// town is a Dial function: each address has its script, and one that has none
// swallows everything.
type town struct {
	t       *testing.T
	scripts map[string]func(*peer)
	served  sync.WaitGroup
	mu      sync.Mutex
	dialled []string
	open    int // dials under way
	most    int
}

func newTown(t *testing.T, scripts map[string]func(*peer)) *town {
	w := &town{t: t, scripts: scripts}
	t.Cleanup(w.served.Wait)
	return w
}

func (w *town) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, addr)
	w.open++
	w.most = max(w.most, w.open)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.open--
		w.mu.Unlock()
	}()
	script := w.scripts[addr]
	if script == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	client, server := net.Pipe()
	w.served.Go(func() {
		script(&peer{w.t, server})
		_ = server.Close()
	})
	return client, nil
}

func (w *town) options() Options {
	return Options{ClientID: "tester", SoftwareName: "sluice", SoftwareVersion: "1.2.3", Dial: w.dial, Timeout: 10 * time.Second}
}

func good(p *peer) {
	if p.hello() {
		p.gone()
	}
}

// Of many brokers that swallow packets, wherever the good one stands: it is reached
// within twice the timeout, with few attempts at once, and at once where it is early.
func TestDialAnyAmongTheDead(t *testing.T) {
	for _, n := range []int{2, 4, 7, 13, 16} {
		for _, good1 := range []int{0, 1, n - 1} {
			t.Run(fmt.Sprint(good1, " of ", n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					addrs := make([]string, n)
					for i := range addrs {
						addrs[i] = fmt.Sprintf("b%d:9092", i)
					}
					w := newTown(t, map[string]func(*peer){addrs[good1]: good})
					begun := time.Now()
					c, i, err := DialAny(t.Context(), addrs, w.options())
					if err != nil || i != good1 {
						t.Fatalf("reached %d: %v", i, err)
					}
					defer c.Close()
					took, limit := time.Since(begun), 20*time.Second
					if good1 < 2 {
						limit = stagger
					}
					if took > limit {
						t.Errorf("took %v", took)
					}
					if took < 2*time.Second && w.most > places {
						t.Errorf("%d attempts at once", w.most)
					}
				})
			})
		}
	}
}

// All of them refuse: each is tried once, one right after the other, and the error
// is short. A refused login is the end.
func TestDialAnyAllFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		addrs := make([]string, 100)
		scripts := map[string]func(*peer){}
		for i := range addrs {
			addrs[i] = fmt.Sprintf("b%d:9092", i)
			scripts[addrs[i]] = func(p *peer) {
				r := p.want(apiVersionsKey)
				resp := versionsResponse(r.GetVersion())
				resp.ErrorCode = int16(retry.UnknownServerError)
				p.answer(r, resp)
			}
		}
		w := newTown(t, scripts)
		begun := time.Now()
		_, _, err := DialAny(t.Context(), addrs, w.options())
		if !errors.Is(err, retry.UnknownServerError) || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "100 attempts failed") {
			t.Errorf("%v", err)
		}
		if !slices.Equal(w.dialled, addrs) || time.Since(begun) > 0 {
			t.Errorf("%d dials in %v", len(w.dialled), time.Since(begun))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, map[string]func(*peer){"a:1": deny, "b:1": deny})
		o := w.options()
		o.SASL = plain.Auth{User: "u", Pass: "p"}.AsMechanism()
		if _, _, err := DialAny(t.Context(), []string{"a:1", "b:1"}, o); !errors.Is(err, ErrAuth) || len(w.dialled) != 1 {
			t.Errorf("%d logins: %v", len(w.dialled), err)
		}
	})
}

// deny refuses the login.
func deny(p *peer) {
	if !p.hello() {
		return
	}
	p.answer(p.want(saslHandshakeKey), &kmsg.SASLHandshakeResponse{Version: 1})
	r := p.want(saslAuthenticateKey)
	resp := kmsg.NewPtrSASLAuthenticateResponse()
	resp.Version, resp.ErrorCode = r.GetVersion(), 58
	p.answer(r, resp)
	p.gone()
}

func welcome(p *peer) {
	if !p.hello() {
		return
	}
	p.answer(p.want(saslHandshakeKey), &kmsg.SASLHandshakeResponse{Version: 1})
	r := p.want(saslAuthenticateKey)
	resp := kmsg.NewPtrSASLAuthenticateResponse()
	resp.Version = r.GetVersion()
	p.answer(r, resp)
	p.gone()
}

// A name with two addresses, or three: whatever the first of them is, the name is
// reached, soon, and the address that served is not left for another one.
func TestEachAddressOfAName(t *testing.T) {
	login := plain.Auth{User: "u", Pass: "p"}.AsMechanism()
	failing := func(p *peer) {
		r := p.want(apiVersionsKey)
		resp := versionsResponse(r.GetVersion())
		resp.ErrorCode = int16(retry.UnsupportedVersion)
		p.answer(r, resp)
		p.gone()
	}
	for name, first := range map[string]func(*peer){
		"hangs up":            func(*peer) {},
		"silent":              func(p *peer) { p.gone() },
		"swallows":            nil,
		"no ApiVersions":      failing,
		"no Kafka":            func(p *peer) { p.want(apiVersionsKey); p.send([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); p.gone() },
		"refuses the login":   deny,
		"silent in the login": good,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTown(t, map[string]func(*peer){"10.0.0.1:9092": first, "10.0.0.2:9092": welcome, "[fd00::1]:9092": first})
				if first == nil {
					delete(w.scripts, "10.0.0.1:9092")
					delete(w.scripts, "[fd00::1]:9092")
				}
				o := w.options()
				o.SASL = login
				o.Lookup = func(context.Context, string) ([]netip.Addr, error) {
					return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("fd00::1")}, nil
				}
				begun := time.Now()
				c, err := Dial(t.Context(), "broker.example:9092", o)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if c.Addr() != "broker.example:9092" || time.Since(begun) > time.Second {
					t.Errorf("%s after %v", c.Addr(), time.Since(begun))
				}
				if w.dialled[0] != "10.0.0.1:9092" {
					t.Errorf("dialled %v", w.dialled)
				}
			})
		})
	}
}

// No address of a name serves: the error says which one did what.
func TestNoAddressOfAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, map[string]func(*peer){"10.0.0.1:9092": func(*peer) {}})
		o := w.options()
		o.Lookup = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}, nil
		}
		begun := time.Now()
		_, err := Dial(t.Context(), "broker.example:9092", o)
		if err == nil || !strings.Contains(err.Error(), "broker.example:9092 at 10.0.0.1:9092: ApiVersions") || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if time.Since(begun) > o.Timeout {
			t.Errorf("took %v", time.Since(begun))
		}
		o.Lookup = func(context.Context, string) ([]netip.Addr, error) { return nil, nil }
		if _, err := Dial(t.Context(), "broker.example:9092", o); err == nil || !strings.Contains(err.Error(), "no addresses") {
			t.Error(err)
		}
	})
}

// A dialer that does not look at its context, and one that comes with a connection
// too late: Dial ends in time, and the connection is closed.
func TestDialerOfTheUserThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		release := make(chan struct{})
		o := Options{Timeout: time.Second, Dial: func(context.Context, string, string) (net.Conn, error) {
			<-release
			return client, nil
		}}
		begun := time.Now()
		_, err := Dial(t.Context(), "b:1", o)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		close(release)
		(&peer{t, server}).gone() // returns once the late connection is closed
	})
}

// Two attempts succeed: the connection of the second is closed.
func TestSecondToArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clients, servers [2]net.Conn
		for i := range clients {
			clients[i], servers[i] = net.Pipe()
		}
		c, i, err := newRace(2, time.Minute).run(t.Context(), never, func(_ context.Context, i int) (*Conn, error) {
			time.Sleep(2 * stagger)
			return newConn("b:1", clients[i], &Options{}), nil
		})
		if err != nil || i != 0 {
			t.Fatalf("reached %d: %v", i, err)
		}
		defer c.Close()
		(&peer{t, servers[1]}).gone() // returns once the late connection is closed
	})
}

// The families of addresses take turns.
func TestAlternate(t *testing.T) {
	var in []netip.Addr
	for _, s := range []string{"fd00::1", "fd00::2", "fd00::3", "10.0.0.1"} {
		in = append(in, netip.MustParseAddr(s))
	}
	if got := fmt.Sprint(alternate(in)); got != "[fd00::1 10.0.0.1 fd00::2 fd00::3]" {
		t.Error(got)
	}
}

// Check has the last word: its error is that of the connection, and another address
// is tried.
func TestCheckedConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, map[string]func(*peer){"a:1": good, "b:1": good})
		o := w.options()
		foreign := errors.New("not ours")
		o.Check = func(_ context.Context, c *Conn) error {
			if c.Addr() == "a:1" {
				return foreign
			}
			return nil
		}
		if _, err := Dial(t.Context(), "a:1", o); !errors.Is(err, foreign) {
			t.Error(err)
		}
		c, i, err := DialAny(t.Context(), []string{"a:1", "b:1"}, o)
		if err != nil || i != 1 {
			t.Fatal(i, err)
		}
		c.Close()
	})
}
