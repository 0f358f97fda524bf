package config

import (
	"fmt"
	"strings"
)

// jaas is the property sasl.jaas.config, which sets user and password.
type jaas struct{}

func (jaas) parse(c *Config, value string) string {
	login, problem := parseJAAS(value)
	if problem != "" {
		return problem
	}
	c.SASLUsername, c.SASLPassword = login.username, NewSecret(login.password)
	return ""
}

func (jaas) text(*Config) string { return "" }

func (jaas) check(*Config) []fault { return nil }

func (jaas) harmless(string) bool { return false }

// jaasFaults compares sasl.jaas.config with the other properties, by their
// canonical names.
func jaasFaults(c *Config, given map[string]entry) []*FieldError {
	e, ok := given["sasl.jaas.config"]
	if !ok {
		return nil
	}
	var faults []*FieldError
	report := func(problem string) {
		faults = append(faults, &FieldError{Property: e.name, Value: mask, Problem: problem, Origin: e.origin})
	}
	for _, name := range []string{"sasl.username", "sasl.password"} {
		if _, both := given[name]; both {
			report("sets user and password, and " + name + " is given as well: keep one of them")
		}
	}
	login, problem := parseJAAS(e.value)
	plain := c.SASLMechanism == MechanismPlain
	if problem == "" && c.SASLMechanism != MechanismUnset && plain != (login.module == plainModule) {
		report("names " + login.module + ", which does not fit sasl.mechanism " + c.SASLMechanism.String())
	}
	return faults
}

const (
	plainModule = "PlainLoginModule"
	scramModule = "ScramLoginModule"
)

var loginModules = map[string]string{
	"org.apache.kafka.common.security.plain.PlainLoginModule": plainModule,
	"org.apache.kafka.common.security.scram.ScramLoginModule": scramModule,
}

type jaasLogin struct {
	module, username, password string
}

// parseJAAS reads "MODULE required username=... password=...;", the entry that
// the Java client has for these two modules. A problem never repeats any of the
// text: with a quote missing, any part of it can be the password.
func parseJAAS(text string) (jaasLogin, string) {
	s := jaasScanner{text: text}
	module, known := loginModules[s.word()]
	if !known {
		return jaasLogin{}, "must begin with the full name of PlainLoginModule or ScramLoginModule; for other modules set the Go field SASL"
	}
	switch strings.ToLower(s.word()) {
	case "required", "requisite", "sufficient", "optional":
	default:
		return jaasLogin{}, "must have the word required after the module"
	}
	login := jaasLogin{module: module}
	if problem := s.options(&login); problem != "" {
		return jaasLogin{}, problem
	}
	if login.username == "" || login.password == "" {
		return jaasLogin{}, "needs the options username and password, not empty"
	}
	return login, ""
}

// options reads NAME=VALUE pairs up to the semicolon, and expects nothing more.
func (s *jaasScanner) options(login *jaasLogin) string {
	for !s.skip(';') {
		at := s.pos
		name := s.word()
		if name == "" || !s.skip('=') {
			return fmt.Sprintf("is not of the form NAME=\"VALUE\" ... ; at byte %d", at)
		}
		value, ok := s.value()
		if !ok {
			return fmt.Sprintf("has an option without a properly quoted value at byte %d", at)
		}
		switch {
		case name == "username" && login.username == "":
			login.username = value
		case name == "password" && login.password == "":
			login.password = value
		default:
			return fmt.Sprintf("has an option other than username and password, or one of them twice, at byte %d", at)
		}
	}
	if s.skipSpace(); s.pos < len(s.text) {
		return fmt.Sprintf("goes on after its semicolon, at byte %d: only one module can be used", s.pos)
	}
	return ""
}

// jaasScanner reads the words and quoted texts of a JAAS configuration.
type jaasScanner struct {
	text string
	pos  int
}

func (s *jaasScanner) skipSpace() {
	for s.pos < len(s.text) && s.text[s.pos] <= ' ' {
		s.pos++
	}
}

// skip goes over c, if that comes next.
func (s *jaasScanner) skip(c byte) bool {
	s.skipSpace()
	if s.pos < len(s.text) && s.text[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// word reads letters, digits and a few signs; empty if something else comes.
func (s *jaasScanner) word() string {
	s.skipSpace()
	start := s.pos
	for s.pos < len(s.text) && isJAASWord(s.text[s.pos]) {
		s.pos++
	}
	return s.text[start:s.pos]
}

func isJAASWord(c byte) bool {
	return isAlphanumeric(c) || c == '.' || c == '-' || c == '_' || c == '$'
}

// value reads a word or a quoted text.
func (s *jaasScanner) value() (string, bool) {
	s.skipSpace()
	if s.pos == len(s.text) {
		return "", false
	}
	if quote := s.text[s.pos]; quote == '"' || quote == '\'' {
		s.pos++
		return s.quoted(quote)
	}
	word := s.word()
	return word, word != ""
}

// quoted reads up to the quote, with the escapes of java.io.StreamTokenizer. Its
// octal ones are refused rather than misread.
func (s *jaasScanner) quoted(quote byte) (string, bool) {
	var b strings.Builder
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		s.pos++
		switch c {
		case quote:
			return b.String(), true
		case '\n', '\r':
			return "", false
		case '\\':
			if s.pos == len(s.text) || s.text[s.pos] >= '0' && s.text[s.pos] <= '7' {
				return "", false
			}
			c = unescape(s.text[s.pos])
			s.pos++
		}
		b.WriteByte(c)
	}
	return "", false
}

func unescape(c byte) byte {
	if i := strings.IndexByte("abfnrtv", c); i >= 0 {
		return "\a\b\f\n\r\t\v"[i]
	}
	return c
}
