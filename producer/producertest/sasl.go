package producertest

import (
	"bytes"
	"crypto/subtle"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	mechanismPlain = "PLAIN"
	mechanismSCRAM = "SCRAM-SHA-256"
)

// auth is how far a connection is with SASL. Only the serving goroutine uses it.
type auth struct {
	users     map[string]string // empty: nobody has to authenticate
	mechanism string            // agreed in the handshake, until it is through
	scram     *scramServer
	done      bool
}

// allows reports whether a request may be served now.
func (a *auth) allows(key int16) bool {
	switch key {
	case keyApiVersions, keySASLHandshake, keySASLAuthenticate:
		return true
	}
	return a.done || len(a.users) == 0
}

// saslHandshake agrees on a mechanism, also to authenticate again (KIP-368).
func (c *connection) saslHandshake(q *kmsg.SASLHandshakeRequest) (kmsg.Response, bool) {
	resp := q.ResponseKind().(*kmsg.SASLHandshakeResponse)
	if len(c.auth.users) == 0 {
		resp.ErrorCode = codeIllegalSASLState
		return resp, true
	}
	resp.SupportedMechanisms = []string{mechanismPlain, mechanismSCRAM}
	switch q.Mechanism {
	case mechanismPlain, mechanismSCRAM:
		c.auth.mechanism, c.auth.scram = q.Mechanism, nil
	default:
		resp.ErrorCode = codeUnsupportedMechanism
	}
	return resp, true
}

// saslAuthenticate takes one message of the mechanism.
func (c *connection) saslAuthenticate(q *kmsg.SASLAuthenticateRequest) (kmsg.Response, bool) {
	resp := q.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	a := &c.auth
	var ok bool
	switch a.mechanism {
	case mechanismPlain:
		ok, a.done = a.plain(q.SASLAuthBytes), true
		a.mechanism = ""
	case mechanismSCRAM:
		if a.scram == nil {
			a.scram = newSCRAMServer(a.users)
		}
		resp.SASLAuthBytes, a.done, ok = a.scram.next(q.SASLAuthBytes)
		if a.done {
			a.mechanism = ""
		}
	default:
		resp.ErrorCode = codeIllegalSASLState
		return resp, true
	}
	if !ok {
		a.done, a.mechanism = false, ""
		resp.ErrorCode = codeSASLFailed
		resp.ErrorMessage = kmsg.StringPtr("authentication failed")
	}
	return resp, true
}

// plain checks a PLAIN message (RFC 4616): authorisation identity, name,
// password, with zero bytes between them.
func (a *auth) plain(msg []byte) bool {
	parts := bytes.Split(msg, []byte{0})
	if len(parts) != 3 {
		return false
	}
	password, known := a.users[string(parts[1])]
	return known && subtle.ConstantTimeCompare([]byte(password), parts[2]) == 1
}
