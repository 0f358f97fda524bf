package producer_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/sasl"
)

// lines is a slog.Handler that is a function.
type lines func(slog.Record)

func (lines) Enabled(context.Context, slog.Level) bool        { return true }
func (l lines) Handle(_ context.Context, r slog.Record) error { l(r); return nil }
func (l lines) WithAttrs([]slog.Attr) slog.Handler            { return l }
func (l lines) WithGroup(string) slog.Handler                 { return l }
func (l lines) logger() *slog.Logger                          { return slog.New(l) }

// mechanism is a sasl.Mechanism and its session, made of functions.
type mechanism struct{ begin, go_ func() error }

func (m mechanism) Name() string { return "PLAIN" }
func (m mechanism) Authenticate(context.Context, string) (sasl.Session, []byte, error) {
	return m, []byte("\x00alice\x00wonderland"), m.begin()
}
func (m mechanism) Challenge([]byte) (bool, []byte, error) { return true, nil, m.go_() }

// guests are the places where code of the user runs, apart from callbacks. do is that
// code: what it does before it does its work.
var guests = map[string]func(c *config.Config, do func()){
	"the handler of the Logger": func(c *config.Config, do func()) {
		c.Logger = lines(func(slog.Record) { do() }).logger()
	},
	"the Dialer": func(c *config.Config, do func()) {
		dial := c.Dialer
		c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			do()
			return dial(ctx, network, addr)
		}
	},
	"the mechanism's credentials": func(c *config.Config, do func()) {
		c.SecurityProtocol, c.AllowPlaintextPasswords = config.ProtocolSASLPlaintext, true
		c.SASL = mechanism{func() error { do(); return nil }, func() error { return nil }}
	},
	"the mechanism's session": func(c *config.Config, do func()) {
		c.SecurityProtocol, c.AllowPlaintextPasswords = config.ProtocolSASLPlaintext, true
		c.SASL = mechanism{func() error { return nil }, func() error { do(); return nil }}
	},
}

func guestRig(t *testing.T, name string, do func()) *rig {
	cc := topics(1)
	if name == "the mechanism's credentials" || name == "the mechanism's session" {
		cc.Users = map[string]string{"alice": "wonderland"}
	}
	return newRig(t, cc, func(c *config.Config) { guests[name](c, do) })
}

// User code that does not return keeps neither Flush nor Close nor Ping, nor Abort.
func TestUserCodeMayBlock(t *testing.T) {
	for name := range guests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				never := make(chan struct{})
				r := guestRig(t, name, func() { <-never })
				defer close(never)
				r.produce(t.Context(), producer.Record{}, 10)
				for what, call := range map[string]func(context.Context) error{
					"Flush": r.p.Flush, "Ping": func(ctx context.Context) error { return r.p.Ping(ctx) },
					"Mark": func(ctx context.Context) error { _, err := r.p.Lane("t").Mark(ctx); return err },
					"ProduceSync": func(ctx context.Context) error {
						_, err := r.p.ProduceSync(ctx, producer.Record{Topic: "t", Value: []byte("v")})
						return err
					},
				} {
					wantEnd(t, what, call)
				}
				wantEnd(t, "Close", r.p.Close)
				wantEnd(t, "Close again", r.p.Close)
			})
		})
	}
}

// wantEnd calls with a context of 200 ms.
func wantEnd(t *testing.T, what string, call func(context.Context) error) {
	t.Helper()
	const wait = 200 * time.Millisecond
	ctx, cancel := contextFor(t, wait)
	defer cancel()
	start := time.Now()
	err := call(ctx)
	if took := time.Since(start); took > 2*wait || err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s returned after %v: %v", what, took, err)
	}
}

// What user code panics with is not the end of the process, nor that of the records.
func TestUserCodeMayPanic(t *testing.T) {
	for name := range guests {
		for how, end := range map[string]func(){
			"panic": func() { panic("user code") },
			"end":   runtime.Goexit,
		} {
			if how == "end" && name == "the handler of the Logger" {
				continue // it would end a loop of the producer: nothing can help
			}
			t.Run(name+", "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var calls atomic.Int32
					r := guestRig(t, name, func() {
						if calls.Add(1) < 4 {
							end()
						}
					})
					r.produce(t.Context(), producer.Record{}, 10)
					r.flush(time.Minute)
					if got := r.judge(); got.written != 1 {
						t.Errorf("%+v, %v", got, r.firstError())
					}
				})
			})
		}
	}
}

// A handler may produce to the very partition of which the line is about, and wait
// for it elsewhere: no lock is held while it runs.
func TestHandlerMayProduce(t *testing.T) {
	c := newCluster(t, producertest.Config{InMemory: true, Topics: map[string]int32{"t": 1}})
	var p atomic.Pointer[producer.Producer]
	seen := map[string]int{}
	handler := lines(func(r slog.Record) {
		pr := p.Load()
		if pr == nil {
			return
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = pr.TryProduce(numbered(0), nil)
			pr.Stats()
		}()
		select {
		case <-done:
			seen[r.Message]++
		case <-time.After(20 * time.Second):
			t.Errorf("%q: a lock is held", r.Message)
		}
	})
	serial := make(chan struct{}, 1) // lines come from several goroutines
	pr := newProducer(t, c, func(cfg *config.Config) {
		cfg.RetryBackoff, cfg.ReconnectBackoff = time.Millisecond, time.Millisecond
		cfg.Logger = lines(func(r slog.Record) { serial <- struct{}{}; handler(r); <-serial }).logger()
	})
	p.Store(pr)
	n := 0
	c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
		switch n++; {
		case n == 2:
			go func() { _ = c.ForgetProducers("t", 0) }()
			return producertest.Drop()
		case n < 6:
			return producertest.Drop()
		}
		return producertest.Fault{}
	})
	for range 3 {
		if _, err := pr.ProduceSync(t.Context(), numbered(0)); err != nil {
			t.Log(err) // the broker forgot us while a record was in doubt
		}
	}
	p.Store(nil)
	serial <- struct{}{}
	defer func() { <-serial }()
	if seen["asked the broker for its state"] == 0 {
		t.Errorf("no such line: %v", seen)
	}
}
