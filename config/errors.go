package config

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// FieldError is one fault in one setting. The functions of this package join all
// faults they find with [errors.Join]; errors.As finds the first of them, and
// the Unwrap() []error method of the joined error gives them all.
type FieldError struct {
	// Property is the property name, or the name of a Go-only field of Config.
	// It is empty where a line of a file could not be read at all, and where a name
	// that is not known may be part of a secret, as a line of a pasted key is.
	Property string
	// Value is the refused value in the form a property has. It is a mask where
	// the value is not known to be harmless, and empty for unknown properties, since
	// a misspelt sasl.password has a password for its value.
	Value string
	// Problem says what is wrong and what would be right.
	Problem string
	// Origin is where the setting was found: "FILE:LINE" for Load, "line LINE"
	// for Parse, "environment variable NAME" for FromEnv. It is empty for FromMap,
	// unless the name cannot be shown.
	Origin string
}

// Error returns origin, property, value and problem on one line.
func (e *FieldError) Error() string {
	var b strings.Builder
	b.WriteString("config: ")
	if e.Origin != "" {
		b.WriteString(e.Origin + ": ")
	}
	if e.Property != "" {
		b.WriteString(plainName(e.Property))
		if e.Value != "" {
			b.WriteString(" = " + strconv.Quote(clip(e.Value)))
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// plainName quotes a name that is not of the usual characters: an unknown
// property may be any bytes, and an error must stay on one line.
func plainName(name string) string {
	for i := range len(name) {
		c := name[i]
		if !isAlphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return strconv.Quote(clip(name))
		}
	}
	return clip(name)
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// clip bounds what an error repeats of its input.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}

func join(faults []*FieldError) error {
	errs := make([]error, len(faults))
	for i, f := range faults {
		errs[i] = f
	}
	return errors.Join(errs...)
}
