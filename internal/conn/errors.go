package conn

import (
	"errors"
	"fmt"
	"strconv"
)

var (
	// ErrAuth is in the chain of an error that says that the broker refused
	// the login, or that the broker could not prove who it is to SCRAM.
	ErrAuth = errors.New("authentication failed")

	// ErrProtocol is in the chain of an error that says that the peer does
	// not speak Kafka's protocol, or not as it should.
	ErrProtocol = errors.New("not a valid Kafka response")

	// ErrTooLarge is in the chain of an error that says that a response was not
	// read, for it would be larger than one that makes sense. ErrProtocol is, too.
	ErrTooLarge = errors.New("it is too large")

	// ErrNotOffered is in the chain of an error that says that the broker
	// offers no version of an API that this client speaks. Nothing was sent.
	ErrNotOffered = errors.New("the broker offers no version of this API that the client speaks")
)

// Error is any failure of a connection: where, doing what, and why. Unless
// ErrNotOffered is in its chain the connection is of no use any more.
type Error struct {
	Addr string // host:port as dialled
	Op   string // "dial", "tls handshake", "write", "read", or the name of the API asked
	Err  error
}

// Error returns "conn: host:port: what was done: why". It holds no secret.
func (e *Error) Error() string {
	return "conn: " + e.Addr + ": " + e.Op + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func protocolErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// quote makes text that came from outside safe to show: quoted, so that it
// cannot forge a log line, and cut.
func quote(s string) string {
	const most = 200
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}
