package config

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
)

// Explain returns a text for people, of many lines: the value of every setting and
// where it comes from, then the warnings. Secrets are masked.
func (c *Config) Explain() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	defaults := Default()
	for i := range table {
		if p := &table[i]; p.field != "" {
			value := p.visible(p.kind.text(c))
			from := c.source(p, value, p.visible(p.kind.text(&defaults)))
			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", p.name, value, from) // a Builder takes everything
		}
	}
	for _, s := range c.settings() {
		if lookup(s.name) == nil {
			_, _ = fmt.Fprintf(w, "%s\t%s\tset in Go\n", s.name, s.value)
		}
	}
	_ = w.Flush()
	for _, warning := range c.Warnings {
		b.WriteString("warning: " + warning.String() + "\n")
	}
	return b.String()
}

// source says where the value of a property comes from.
func (c *Config) source(p *property, value, byDefault string) string {
	for _, g := range c.given {
		if g.property != p.name || g.visible != value {
			continue
		}
		from := cmp.Or(g.origin, "given")
		if g.name != p.name {
			from += ", as " + g.name
		}
		return from
	}
	if value == byDefault {
		return "default"
	}
	return "set in Go"
}
