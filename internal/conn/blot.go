package conn

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Brokers, and what calls itself one, may repeat a login in their messages, which
// end up in errors and logs. So the secrets that were sent are looked for there, in
// the forms in which programs write them, and blotted out.

const blotted = "[secret]"

// Quote makes what a broker says safe to show: without the secrets of the login, in
// quotes so that it cannot forge a log line, and cut. Any goroutine may call it.
func (c *Conn) Quote(said string) string { return quote(blot(said, c.secrets)) }

// learn notes a secret in all its forms.
func (c *Conn) learn(secret string) {
	if secret == "" {
		return
	}
	raw := []byte(secret)
	quoted := strconv.Quote(secret)
	for _, form := range []string{
		secret, quoted[1 : len(quoted)-1], url.QueryEscape(secret), url.PathEscape(secret),
		base64.RawStdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw),
		hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)),
	} {
		if !slices.Contains(c.secrets, form) {
			c.secrets = append(c.secrets, form)
		}
	}
	// The longest first: one form may be part of another.
	slices.SortStableFunc(c.secrets, func(a, b string) int { return len(b) - len(a) })
}

// learnToken notes what is secret in a token of a login. Those of SCRAM hold nothing
// of the password. Of PLAIN the name may be shown, and helps.
func (c *Conn) learnToken(mechanism string, token []byte) {
	switch {
	case strings.HasPrefix(mechanism, "SCRAM-"):
		return
	case mechanism == "PLAIN":
		fields := bytes.Split(token, []byte{0})
		c.learn(string(fields[len(fields)-1]))
	default:
		for _, field := range bytes.FieldsFunc(token, func(r rune) bool { return r <= ' ' || r == ',' }) {
			if len(field) >= leastSecret {
				c.learn(string(field))
			}
		}
	}
	if len(token) >= leastSecret {
		c.learn(string(token))
	}
}

// leastSecret is the length from which a secret is blotted out. Of a shorter one the
// gaps would give it away, so nothing is shown of what it is in.
const leastSecret = 4

func blot(said string, secrets []string) string {
	for _, s := range secrets {
		if len(s) < leastSecret && strings.Contains(said, s) {
			return blotted
		}
		said = strings.ReplaceAll(said, s, blotted)
	}
	return said
}
