package producer

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// A producer is shown by its name, whatever the verb: what is in it holds the user's
// login, and is of no use to a reader of a log.

// String returns "producer" and the client.id.
func (pr *Producer) String() string {
	if pr == nil {
		return "producer <nil>"
	}
	return fmt.Sprintf("producer %q", pr.cfg.ClientID)
}

func (pr *Producer) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, pr.String()) }
func (pr *Producer) GoString() string             { return pr.String() }
func (pr *Producer) LogValue() slog.Value         { return slog.StringValue(pr.String()) }
func (pr *Producer) MarshalJSON() ([]byte, error) { return json.Marshal(pr.String()) }
func (pr *Producer) MarshalText() ([]byte, error) { return []byte(pr.String()), nil }

// String returns "lane", its producer ID if it has one, and the producer's name.
func (l *Lane) String() string {
	if l == nil {
		return "lane <nil>"
	}
	if id := l.identity.Load(); id != nil {
		return fmt.Sprintf("lane %d of %v", id.producerID, l.pr)
	}
	return fmt.Sprintf("lane of %v", l.pr)
}

func (l *Lane) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, l.String()) }
func (l *Lane) GoString() string             { return l.String() }
func (l *Lane) LogValue() slog.Value         { return slog.StringValue(l.String()) }
func (l *Lane) MarshalJSON() ([]byte, error) { return json.Marshal(l.String()) }
func (l *Lane) MarshalText() ([]byte, error) { return []byte(l.String()), nil }
