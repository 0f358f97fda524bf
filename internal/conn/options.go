package conn

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
)

const defaultTimeout = 30 * time.Second

// Options says how to connect. The zero value connects in plaintext and
// without a login. Dial does not keep or change it.
type Options struct {
	// ClientID is sent with every request; "" sends an empty one.
	ClientID string

	// SoftwareName and SoftwareVersion tell the broker what client this is
	// (KIP-511). Characters that Kafka does not allow there are replaced.
	SoftwareName, SoftwareVersion string

	// Dial opens the transport; nil is TCP. It gets the name as it is unless Lookup
	// is set, too, and then resolves it anew at each call (K55).
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	// Lookup finds the addresses of a name, anew for each connection. Nil asks the
	// system, unless Dial is set.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

	// Check, if not nil, has the last word on a connection that is set up: an error
	// counts like one of the login.
	Check func(ctx context.Context, c *Conn) error

	// TLS, if not nil, turns on TLS. ServerName is the dialled host unless
	// set. Less than TLS 1.2 is never spoken, whatever MinVersion says.
	TLS *tls.Config

	// SASL, if not nil, logs in. The mechanism is asked for its credentials
	// at each connection (K59) and must honour its context.
	SASL sasl.Mechanism

	// Secrets are not shown where a broker repeats them, besides those in the tokens
	// of the login: SCRAM sends no password, and the broker may know it all the same.
	Secrets []string

	// Modern says that brokers of this cluster have answered ApiVersions v3 or
	// later. One that hangs up when asked was then cut off, and does not have to
	// be asked in the oldest form, which would hide its sequence window.
	Modern bool

	// Timeout bounds the whole set-up, from dialling to the last step of the
	// login, and a Do whose context has no deadline. 0 is 30 s.
	Timeout time.Duration
}

func (o *Options) timeout() time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	return defaultTimeout
}

// check refuses what could not be put on the wire.
func (o *Options) check() error {
	if len(o.ClientID) > math.MaxInt16 {
		return fmt.Errorf("client id of %d bytes, at most %d fit", len(o.ClientID), math.MaxInt16)
	}
	return nil
}

func (o *Options) open(ctx context.Context, addr string) (net.Conn, error) {
	if o.Dial != nil {
		return o.Dial(ctx, "tcp", addr)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// softwareToken makes s into what KIP-511 allows: letters, digits, '-' and '.',
// beginning and ending with a letter or digit. A broker refuses the request of
// a client that calls itself "(devel)".
func softwareToken(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, s)
	if s = strings.Trim(s, "-."); s == "" {
		return "unknown"
	}
	return s
}
