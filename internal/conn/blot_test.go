package conn

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// echoes are the forms in which a broker may repeat what it was sent.
var echoes = map[string]func(string) string{
	"plain":        func(s string) string { return s },
	"quoted":       strconv.Quote,
	"in a URL":     url.QueryEscape,
	"in a path":    url.PathEscape,
	"base64":       func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"URL base64":   func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"hex":          func(s string) string { return hex.EncodeToString([]byte(s)) },
	"HEX":          func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"at a cut":     func(s string) string { return strings.Repeat("x", 195) + s },
	"twice in one": func(s string) string { return s + s },
}

const (
	secretPass  = "canary \"3b1e\"/+?\n"
	secretToken = "eyJhbGciOi.canary-token.c2ln"
)

// A broker that repeats the login in its messages does not get it into an error.
func TestEchoOfTheLogin(t *testing.T) {
	for name, login := range map[string]struct {
		m       sasl.Mechanism
		secrets []string // that the caller knows
		secret  string
	}{
		"PLAIN":         {plain.Auth{User: testUser, Pass: secretPass}.AsMechanism(), nil, secretPass},
		"OAUTHBEARER":   {oauth.Auth{Token: secretToken}.AsMechanism(), nil, secretToken},
		"SCRAM-SHA-256": {scram.Auth{User: testUser, Pass: secretPass}.AsSha256Mechanism(), []string{secretPass}, secretPass},
	} {
		for form, echo := range echoes {
			t.Run(name+", "+form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var sent string
					err := echoed(t, login.m, login.secrets, func(token []byte) string {
						sent = string(token)
						return "bad login of " + testUser + ": " + echo(login.secret) + " " + echo(string(token))
					})
					wantHidden(t, err.Error(), login.secret)
					if login.secrets == nil { // SCRAM's hold nothing of the password
						wantHidden(t, err.Error(), sent)
					}
					if name == "PLAIN" && form != "at a cut" && !strings.Contains(err.Error(), "bad login of "+testUser) {
						t.Errorf("the reason is gone: %v", err)
					}
				})
			})
		}
	}
}

// echoed is the error of a login to which the broker says something about the token.
func echoed(t *testing.T, m sasl.Mechanism, secrets []string, say func(token []byte) string) error {
	t.Helper()
	b := newBroker(t, tokens(m.Name(), func(token []byte) *kmsg.SASLAuthenticateResponse {
		text := say(token)
		return &kmsg.SASLAuthenticateResponse{ErrorCode: 58, ErrorMessage: &text}
	}))
	o := b.options()
	o.SASL, o.Secrets = m, secrets
	_, err := Dial(context.Background(), brokerAddr, o)
	if err == nil {
		t.Fatal("the login was taken")
	}
	return err
}

// wantHidden checks that nothing of a secret is shown, in any form, nor the beginning.
func wantHidden(t *testing.T, text, secret string) {
	t.Helper()
	for form, echo := range echoes {
		if e := strings.Trim(echo(secret), "\"x="); strings.Contains(text, e) {
			t.Errorf("%s: the secret is in %q", form, text)
		}
	}
	if strings.Contains(text, "canary") {
		t.Errorf("a part of the secret is in %q", text)
	}
}

// Of a short password nothing is shown that it is in: the gaps would tell it.
func TestEchoOfAShortPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := echoed(t, plain.Auth{User: testUser, Pass: "e"}.AsMechanism(), nil, func([]byte) string { return "never heard of her" })
		if !strings.HasSuffix(err.Error(), `the broker says "[secret]"`) {
			t.Error(err)
		}
	})
}

// Of a secret that begins with another one no rest is left.
func TestEchoOfTheLongerSecret(t *testing.T) {
	c := newConn("b:1", nil, &Options{Secrets: []string{"canary", "canary-and-more"}})
	if got := c.Quote("canary-and-more"); got != `"[secret]"` {
		t.Error(got)
	}
}

// What is said later on the connection, and before the login, is looked through as well.
func TestEchoElsewhere(t *testing.T) {
	c := newConn("b:1", nil, &Options{Secrets: []string{secretPass, ""}})
	wantHidden(t, c.Quote("a\n"+secretPass+"b"), secretPass)
	if got := c.Quote("nothing\nto hide"); got != `"nothing\nto hide"` {
		t.Error(got)
	}
}
