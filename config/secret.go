package config

import (
	"fmt"
	"io"
	"log/slog"
)

// mask stands for everything that must not be seen. It has the same length for
// every secret, an empty one included.
const mask = "[hidden]"

// Secret is a text that must not be printed. Whatever way it is formatted,
// logged or marshalled, a fixed mask comes out; only Reveal gives the text.
// The zero value is the empty secret. A Secret is immutable and may be shared.
//
// The text sits behind a function, not in a string: fmt calls no methods on what
// it reaches through unexported fields, and would print a string kind from there.
// For the same reason two secrets cannot be compared; compare what Reveal gives.
type Secret struct {
	reveal func() string
}

// NewSecret hides s. An empty s gives the zero Secret.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return s }}
}

// Reveal returns the text itself.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// String returns the mask.
func (Secret) String() string { return mask }

// GoString returns the mask.
func (Secret) GoString() string { return mask }

// Format writes the mask, whatever the verb and the flags.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, mask) }

// MarshalText returns the mask.
func (Secret) MarshalText() ([]byte, error) { return []byte(mask), nil }

// MarshalJSON returns the mask as a JSON string.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + mask + `"`), nil }

// LogValue returns the mask.
func (Secret) LogValue() slog.Value { return slog.StringValue(mask) }
