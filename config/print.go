package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
)

// setting is a property with its value as it may be seen.
type setting struct {
	name, value string
}

// settings lists every field by its property name, secrets masked. Of a Go-only
// field only that it is set can be told: TLS holds private keys, and what is in
// SASL we do not know.
func (c *Config) settings() []setting {
	var list []setting
	for i := range table {
		if p := &table[i]; p.field != "" {
			list = append(list, setting{p.name, p.visible(p.kind.text(c))})
		}
	}
	// What the Config says about its own origin is no setting.
	set := map[string]bool{"TLS": c.TLS != nil, "SASL": c.SASL != nil, "Logger": c.Logger != nil, "Dialer": c.Dialer != nil}
	for _, field := range goOnly {
		if set[field] {
			list = append(list, setting{field, "set"})
		}
	}
	return list
}

// String returns all settings by their property names, secrets masked.
func (c Config) String() string {
	var b strings.Builder
	b.WriteString("config.Config{")
	for i, s := range c.settings() {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s.name + "=" + strconv.Quote(s.value))
	}
	b.WriteByte('}')
	return b.String()
}

// GoString returns what String returns: Go syntax would show what is masked.
func (c Config) GoString() string { return c.String() }

// Format writes what String returns, whatever the verb and the flags.
func (c Config) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// MarshalJSON returns an object of property names and values as text, secrets
// masked: what FromMap reads, apart from the masks and the Go-only fields.
func (c Config) MarshalJSON() ([]byte, error) {
	object := make(map[string]string)
	for _, s := range c.settings() {
		object[s.name] = s.value
	}
	return json.Marshal(object)
}

// LogValue returns a group of all settings by their property names, secrets
// masked.
func (c Config) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, s := range c.settings() {
		attrs = append(attrs, slog.String(s.name, s.value))
	}
	return slog.GroupValue(attrs...)
}
