package conn

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/sluice-kafka/sluice/retry"
)

const (
	testUser = "alice"
	testPass = "canary-3b1e" // must not show up in any error
)

// tokens answers a login: each function gets a token and returns the next
// message. After the last one the client is expected to be content.
func tokens(mechanism string, steps ...func(token []byte) *kmsg.SASLAuthenticateResponse) func(*peer) {
	return func(p *peer) {
		p.hello()
		r := p.want(saslHandshakeKey)
		if got := r.Request.(*kmsg.SASLHandshakeRequest).Mechanism; got != mechanism {
			p.t.Errorf("mechanism %q", got)
		}
		p.answer(r, &kmsg.SASLHandshakeResponse{Version: r.GetVersion()})
		for _, step := range steps {
			r := p.read()
			if r == nil {
				return
			}
			resp := step(r.Request.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes)
			resp.Version = r.GetVersion()
			p.answer(r, resp)
		}
		p.gone()
	}
}

func say(s string) func([]byte) *kmsg.SASLAuthenticateResponse {
	return func([]byte) *kmsg.SASLAuthenticateResponse {
		return &kmsg.SASLAuthenticateResponse{SASLAuthBytes: []byte(s)}
	}
}

func refuse(code int16, message string) func([]byte) *kmsg.SASLAuthenticateResponse {
	return func([]byte) *kmsg.SASLAuthenticateResponse {
		return &kmsg.SASLAuthenticateResponse{ErrorCode: code, ErrorMessage: &message}
	}
}

// login dials a scripted broker with the mechanism.
func login(t *testing.T, m sasl.Mechanism, script func(*peer)) error {
	b := newBroker(t, script)
	o := b.options()
	o.SASL = m
	c, err := Dial(context.Background(), brokerAddr, o)
	if err == nil {
		c.Close()
	} else if strings.Contains(err.Error(), testPass) {
		t.Errorf("the password is in %q", err)
	}
	return err
}

func TestPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, asked := plain.Auth{User: testUser, Pass: testPass}.AsMechanism(), false
		err := login(t, m, tokens("PLAIN", func(token []byte) *kmsg.SASLAuthenticateResponse {
			asked = true
			if string(token) != "\x00"+testUser+"\x00"+testPass {
				t.Errorf("token %q", token)
			}
			return &kmsg.SASLAuthenticateResponse{}
		}))
		if err != nil || !asked {
			t.Errorf("asked %v: %v", asked, err)
		}
	})
}

// scramServer is the other side of SCRAM-SHA-256, with a twist at the end.
type scramServer struct {
	iterations  int
	first       string
	serverFirst string
	twist       func(final string) string
	judged      bool
}

func (s *scramServer) steps() []func([]byte) *kmsg.SASLAuthenticateResponse {
	return []func([]byte) *kmsg.SASLAuthenticateResponse{s.challenge, s.judge}
}

func (s *scramServer) challenge(token []byte) *kmsg.SASLAuthenticateResponse {
	s.first = strings.TrimPrefix(string(token), "n,,")
	nonce := s.first[strings.Index(s.first, "r=")+2:]
	s.serverFirst = fmt.Sprintf("r=%sbroker,s=%s,i=%d", nonce, base64.StdEncoding.EncodeToString([]byte("salt")), s.iterations)
	return &kmsg.SASLAuthenticateResponse{SASLAuthBytes: []byte(s.serverFirst)}
}

func (s *scramServer) judge(token []byte) *kmsg.SASLAuthenticateResponse {
	s.judged = true
	withoutProof, proof, _ := strings.Cut(string(token), ",p=")
	salted, err := pbkdf2.Key(sha256.New, testPass, []byte("salt"), s.iterations, sha256.Size)
	if err != nil {
		panic(err)
	}
	message := s.first + "," + s.serverFirst + "," + withoutProof
	clientKey := mac(salted, "Client Key")
	stored := sha256.Sum256(clientKey)
	want := mac(stored[:], message)
	for i := range want {
		want[i] ^= clientKey[i]
	}
	if got, _ := base64.StdEncoding.DecodeString(proof); !bytes.Equal(got, want) {
		return refuse(58, "Authentication failed during authentication due to invalid credentials")(nil)
	}
	final := "v=" + base64.StdEncoding.EncodeToString(mac(mac(salted, "Server Key"), message))
	if s.twist != nil {
		final = s.twist(final)
	}
	return &kmsg.SASLAuthenticateResponse{SASLAuthBytes: []byte(final)}
}

func mac(key []byte, message string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(message))
	return h.Sum(nil)
}

func TestScram(t *testing.T) {
	right := scram.Auth{User: testUser, Pass: testPass}.AsSha256Mechanism()
	wrong := scram.Auth{User: testUser, Pass: "wrong"}.AsSha256Mechanism()
	for _, test := range []struct {
		name      string
		mechanism sasl.Mechanism
		server    scramServer
		want      string // in the error; "" is success
	}{
		{"right", right, scramServer{iterations: 4096}, ""},
		{"wrong password", wrong, scramServer{iterations: 4096}, "invalid credentials"},
		{"too few iterations", right, scramServer{iterations: 1}, "iterations"},
		{"far too many", right, scramServer{iterations: 1<<31 - 1}, "iterations"},
		{"an impostor", right, scramServer{iterations: 4096, twist: func(string) string { return "v=bm90IGl0" }}, "signature"},
		{"a flood", right, scramServer{iterations: 4096, twist: func(string) string { return strings.Repeat("\n", 60_000) }}, "unexpected"},
		{"success without proof", right, scramServer{iterations: 4096, twist: func(string) string { return "" }}, "unexpected"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := login(t, test.mechanism, tokens("SCRAM-SHA-256", test.server.steps()...))
				wantAuth(t, err, test.want)
				if test.want == "" && !test.server.judged {
					t.Error("the broker was not asked to judge")
				}
			})
		})
	}
}

func wantAuth(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want it refused with %q", err, want)
	}
	if len(err.Error()) > 600 {
		t.Errorf("%d bytes of error", len(err.Error()))
	}
}

func TestLoginRefused(t *testing.T) {
	m := plain.Auth{User: testUser, Pass: testPass}.AsMechanism()
	handshake := func(resp kmsg.SASLHandshakeResponse) func(*peer) {
		return func(p *peer) {
			p.hello()
			r := p.want(saslHandshakeKey)
			resp.Version = r.GetVersion()
			p.answer(r, &resp)
			p.gone()
		}
	}
	for _, test := range []struct {
		name   string
		script func(*peer)
		code   error
		want   string
	}{
		{"other mechanisms", handshake(kmsg.SASLHandshakeResponse{ErrorCode: 33, SupportedMechanisms: []string{"SCRAM-SHA-512", "x\ny"}}), retry.UnsupportedSASLMechanism, `SCRAM-SHA-512, x\ny`},
		{"not a SASL port", handshake(kmsg.SASLHandshakeResponse{ErrorCode: 34}), retry.Code(34), "ILLEGAL_SASL_STATE"},
		{"credentials", tokens("PLAIN", refuse(58, "no\n"+strings.Repeat("x", 5000))), retry.Code(58), `"no\n`},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := login(t, m, test.script)
				wantAuth(t, err, test.want)
				if !errors.Is(err, test.code) {
					t.Errorf("%v does not hold %v", err, test.code)
				}
			})
		})
	}
}

// A connection that breaks during the login says nothing about credentials.
func TestLoginCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := plain.Auth{User: testUser, Pass: testPass}.AsMechanism()
		err := login(t, m, func(p *peer) { p.hello(); p.want(saslHandshakeKey) })
		if err == nil || errors.Is(err, ErrAuth) {
			t.Error(err)
		}
	})
}

func TestBrokerWithoutSASL(t *testing.T) {
	for name, change := range map[string]kmsg.ApiVersionsResponseApiKey{
		"no handshake":       {ApiKey: saslHandshakeKey, MaxVersion: -1},
		"handshake 0 only":   {ApiKey: saslHandshakeKey, MaxVersion: 0},
		"no tokens":          {ApiKey: saslAuthenticateKey, MaxVersion: -1},
		"tokens of some day": {ApiKey: saslAuthenticateKey, MinVersion: 3, MaxVersion: 9},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := plain.Auth{User: testUser, Pass: testPass}.AsMechanism()
			err := login(t, m, func(p *peer) {
				r := p.want(apiVersionsKey)
				resp := versionsResponse(r.GetVersion())
				for i := range resp.ApiKeys {
					if resp.ApiKeys[i].ApiKey == change.ApiKey {
						resp.ApiKeys[i] = change
					}
				}
				p.answer(r, resp)
				if r := p.read(); r != nil {
					p.answer(r, r.ResponseKind())
					p.gone()
				}
			})
			if !errors.Is(err, ErrNotOffered) || errors.Is(err, ErrAuth) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// stubborn is a mechanism of a test: it never ends, or answers with what it is
// told to.
type stubborn struct {
	rounds int
	done   int // the round in which it ends, 0 for never
	answer []byte
	err    error
}

func (m *stubborn) Name() string { return "STUBBORN" }
func (m *stubborn) Authenticate(context.Context, string) (sasl.Session, []byte, error) {
	return m, m.answer, m.err
}

func (m *stubborn) Challenge([]byte) (bool, []byte, error) {
	m.rounds++
	return m.rounds == m.done, m.answer, nil
}

func repeat(n int, step func([]byte) *kmsg.SASLAuthenticateResponse) (all []func([]byte) *kmsg.SASLAuthenticateResponse) {
	for range n {
		all = append(all, step)
	}
	return all
}

func TestEndlessLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &stubborn{answer: []byte("more")}
		err := login(t, m, tokens("STUBBORN", repeat(maxSASLRounds, say("more"))...))
		wantAuth(t, err, "8 rounds")
		if m.rounds != maxSASLRounds {
			t.Errorf("%d rounds", m.rounds)
		}
	})
}

// The last message of a mechanism is sent, and the broker has the last word.
func TestLastMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &stubborn{answer: []byte("x"), done: 2}
		err := login(t, m, tokens("STUBBORN", repeat(3, say(""))...))
		if err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := &stubborn{answer: []byte("x"), done: 2}
		err := login(t, m, tokens("STUBBORN", say(""), say(""), refuse(58, "expired")))
		wantAuth(t, err, "expired")
	})
}

func TestTokenSizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &stubborn{answer: []byte("x"), done: 1}
		err := login(t, m, tokens("STUBBORN", say(strings.Repeat("x", maxSASLToken+1))))
		if !errors.Is(err, ErrProtocol) {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := &stubborn{answer: make([]byte, maxSASLToken+1)}
		wantAuth(t, login(t, m, tokens("STUBBORN")), "limit")
	})
}

func TestNoCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		vault := errors.New("vault is sealed")
		err := login(t, &stubborn{err: vault}, tokens("STUBBORN"))
		if !errors.Is(err, vault) || errors.Is(err, ErrAuth) {
			t.Error(err)
		}
	})
}
