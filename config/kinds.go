package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// kind is how the value of a property is read, written and judged. A kind holds
// the address of its field as a function of the Config.
type kind interface {
	// parse sets the field, or says what is wrong and leaves it alone.
	parse(c *Config, value string) (problem string)
	// text returns the field as parse would read it.
	text(c *Config) string
	// check judges the field by itself, however it was set.
	check(c *Config) []fault
	// harmless reports whether a value may be shown, be it right or wrong.
	harmless(value string) bool
}

// fault is a FieldError without its property.
type fault struct {
	value, problem string
}

// maxMillis is the largest duration of all settings, about 24.8 days: what fits
// Kafka's int32 milliseconds, and what no sum of a few deadlines can overflow.
const maxMillis = math.MaxInt32 * time.Millisecond

// millis is a duration in whole milliseconds, from least to maxMillis.
type millis struct {
	at        func(*Config) *time.Duration
	least     time.Duration
	unbounded bool // -1 means Unbounded
}

func (k millis) parse(c *Config, value string) string {
	n, problem := parseWhole(value, "a whole number of milliseconds")
	switch {
	case problem != "":
		if d, err := time.ParseDuration(value); err == nil && d >= 0 && d%time.Millisecond == 0 {
			problem += fmt.Sprintf("; write %d, without a unit", d.Milliseconds())
		}
		return problem
	case k.unbounded && n == -1:
		*k.at(c) = Unbounded
		return ""
	case n < k.least.Milliseconds() || n > maxMillis.Milliseconds():
		return k.rangeProblem()
	}
	*k.at(c) = time.Duration(n) * time.Millisecond
	return ""
}

func (k millis) text(c *Config) string {
	d := *k.at(c)
	switch {
	case k.unbounded && d == Unbounded:
		return "-1"
	case d%time.Millisecond != 0 || k.unbounded && d < 0:
		return d.String() // set in Go, and no property value says it
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}

func (k millis) check(c *Config) []fault {
	d := *k.at(c)
	if d >= k.least && d <= maxMillis || k.unbounded && d == Unbounded {
		return nil
	}
	return []fault{{k.text(c), k.rangeProblem()}}
}

func (millis) harmless(value string) bool { return isShort(value) }

func (k millis) rangeProblem() string {
	s := fmt.Sprintf("must be from %d to %d milliseconds", k.least.Milliseconds(), maxMillis.Milliseconds())
	if k.unbounded {
		s += ", or -1 (config.Unbounded) for no bound"
	}
	return s
}

// whole is a whole number from least to most.
type whole[T ~int | ~int32 | ~int64] struct {
	at          func(*Config) *T
	least, most int64
	unit        string
}

func (k whole[T]) parse(c *Config, value string) string {
	n, problem := parseWhole(value, "a whole number of "+k.unit)
	switch {
	case problem != "":
		return problem
	case int64(T(n)) != n: // check would see another number
		return k.rangeProblem()
	}
	*k.at(c) = T(n)
	return ""
}

func (k whole[T]) text(c *Config) string { return strconv.FormatInt(int64(*k.at(c)), 10) }

func (k whole[T]) check(c *Config) []fault {
	if n := int64(*k.at(c)); n < k.least || n > k.most {
		return []fault{{k.text(c), k.rangeProblem()}}
	}
	return nil
}

func (whole[T]) harmless(value string) bool { return isShort(value) }

func (k whole[T]) rangeProblem() string {
	if k.most == math.MaxInt64 {
		return fmt.Sprintf("must be at least %d %s", k.least, k.unit)
	}
	return fmt.Sprintf("must be from %d to %d %s", k.least, k.most, k.unit)
}

func parseWhole(value, want string) (int64, string) {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case value == "":
		return 0, "has no value, want " + want
	case errors.Is(err, strconv.ErrRange):
		return 0, "is out of range, want " + want
	case err != nil:
		return 0, "is not " + want
	}
	return n, ""
}

// flag is true or false.
type flag struct {
	at func(*Config) *bool
}

func (k flag) parse(c *Config, value string) string {
	switch strings.ToLower(value) {
	case "true":
		*k.at(c) = true
	case "false":
		*k.at(c) = false
	default:
		return "must be true or false"
	}
	return ""
}

func (k flag) text(c *Config) string { return strconv.FormatBool(*k.at(c)) }

func (flag) check(*Config) []fault { return nil }

func (flag) harmless(value string) bool { return isShort(value) }

// choice is one of the names of an enum. Others says where else to look.
type choice[T ~int8] struct {
	at     func(*Config) *T
	names  []string
	others string
}

func (k choice[T]) parse(c *Config, value string) string {
	v, ok := enumValue[T](k.names, value)
	if !ok {
		return k.problem()
	}
	*k.at(c) = v
	return ""
}

func (k choice[T]) text(c *Config) string { return enumName("", k.names, *k.at(c)) }

func (k choice[T]) check(c *Config) []fault {
	if v := *k.at(c); v < 0 || int(v) >= len(k.names) {
		return []fault{{k.text(c), k.problem()}}
	}
	return nil
}

func (choice[T]) harmless(value string) bool { return isShort(value) }

func (k choice[T]) problem() string { return "must be " + enumList(k.names) + k.others }

// text is any printable text of at most most bytes.
type text struct {
	at   func(*Config) *string
	most int
}

func (k text) parse(c *Config, value string) string {
	*k.at(c) = value
	return ""
}

func (k text) text(c *Config) string { return *k.at(c) }

func (k text) check(c *Config) []fault {
	if problem := textProblem(*k.at(c), k.most); problem != "" {
		return []fault{{*k.at(c), problem}}
	}
	return nil
}

func (text) harmless(value string) bool { return isText(value) }

// path is the name of a file.
type path struct {
	at func(*Config) *string
}

func (k path) parse(c *Config, value string) string {
	*k.at(c) = value
	return ""
}

func (k path) text(c *Config) string { return *k.at(c) }

func (k path) check(c *Config) []fault {
	value := *k.at(c)
	switch problem := textProblem(value, maxPath); {
	case strings.Contains(value, "-----") || isBase64(value):
		return []fault{{value, "is the content of a PEM file where its name belongs"}}
	case problem != "":
		return []fault{{value, problem}}
	}
	return nil
}

func (path) harmless(value string) bool { return isText(value) }

func textProblem(s string, most int) string {
	if len(s) > most {
		return fmt.Sprintf("is longer than %d bytes", most)
	}
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	for i, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Sprintf("has a character that cannot be printed at byte %d", i)
		}
	}
	return ""
}

// servers is the list of bootstrap servers, separated by commas.
type servers struct{}

func (servers) parse(c *Config, value string) string {
	c.BootstrapServers = nil
	if value == "" {
		return ""
	}
	for entry := range strings.SplitSeq(value, ",") {
		c.BootstrapServers = append(c.BootstrapServers, strings.TrimSpace(entry))
	}
	return ""
}

func (servers) text(c *Config) string {
	entries := make([]string, len(c.BootstrapServers))
	for i, s := range c.BootstrapServers {
		entries[i] = withoutUser(s)
	}
	return strings.Join(entries, ",")
}

func (servers) check(c *Config) []fault {
	if len(c.BootstrapServers) == 0 {
		return []fault{{"", `is required, for example "broker1:9092,broker2:9092"`}}
	}
	var faults []fault
	for _, s := range c.BootstrapServers {
		if problem := addressProblem(s); problem != "" {
			faults = append(faults, fault{withoutUser(s), problem})
		}
	}
	return faults
}

func (servers) harmless(value string) bool { return isText(value) }

// withoutUser masks what stands before an @. No valid address has one, but in a
// URL it is where the password is.
func withoutUser(address string) string {
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		return mask + address[i:]
	}
	return address
}

// password is a secret text.
type password struct {
	at func(*Config) *Secret
}

func (k password) parse(c *Config, value string) string {
	*k.at(c) = NewSecret(value)
	return ""
}

func (k password) text(c *Config) string { return k.at(c).Reveal() }

func (k password) check(c *Config) []fault {
	switch s := k.at(c).Reveal(); {
	case !utf8.ValidString(s):
		return []fault{{s, "is not valid UTF-8"}}
	case strings.ContainsRune(s, 0):
		return []fault{{s, "has a NUL character, which no mechanism can send"}}
	}
	return nil
}

func (password) harmless(string) bool { return false }
