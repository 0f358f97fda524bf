package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of properties that belong to other clients, and set no field under
// their own name.

// warner is a kind whose properties can be accepted and yet need a word.
type warner interface {
	warning(value string) string
}

// alias is another name of a property, perhaps in another unit.
type alias struct {
	to      string
	convert func(value string) (converted, problem string) // nil: as it is
	unset   string                                         // the value that leaves the field alone, if not empty
	note    func(value string) string                      // nil: nothing to say
}

func (k alias) parse(c *Config, value string) string {
	if k.unset != "" && strings.EqualFold(value, k.unset) {
		return ""
	}
	if k.convert != nil {
		var problem string
		if value, problem = k.convert(value); problem != "" {
			return problem
		}
	}
	return lookup(k.to).kind.parse(c, value)
}

func (alias) text(*Config) string { return "" }

func (k alias) check(c *Config) []fault { return lookup(k.to).kind.check(c) }

func (k alias) harmless(value string) bool { return lookup(k.to).kind.harmless(value) }

func (k alias) warning(value string) string {
	if k.note != nil {
		return k.note(value)
	}
	if w, ok := lookup(k.to).kind.(warner); ok {
		return w.warning(value)
	}
	return ""
}

// refused is a property that cannot be had: only the values in accepts, which ask
// for what happens anyway, are let through, and why is what to say to the others.
type refused struct {
	accepts []string
	why     string
}

func (k refused) parse(_ *Config, value string) string {
	if containsFold(k.accepts, value) {
		return ""
	}
	return k.why
}

func (k refused) text(*Config) string {
	if len(k.accepts) == 0 {
		return ""
	}
	return k.accepts[0]
}

func (refused) check(*Config) []fault { return nil }

// harmless: where there is no value to choose, it can be a secret.
func (k refused) harmless(value string) bool {
	return len(k.accepts) > 0 && k.accepts[0] != "" && isShort(value)
}

// ignored is a property that has no effect here and does no harm by that. A
// warning says so, except for the values in silent, which change nothing.
type ignored struct {
	silent []string
	note   string
	valid  func(value string) (problem string) // nil: anything
}

func (k ignored) parse(_ *Config, value string) string {
	if k.valid == nil {
		return ""
	}
	return k.valid(value)
}

func (ignored) text(*Config) string { return "" }

func (ignored) check(*Config) []fault { return nil }

func (k ignored) harmless(value string) bool { return k.valid != nil && isShort(value) }

func (k ignored) warning(value string) string {
	if containsFold(k.silent, value) {
		return ""
	}
	return k.note
}

func containsFold(list []string, value string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, value) })
}

// oneOf accepts some values only.
func oneOf(values ...string) func(string) string {
	return func(value string) string {
		if containsFold(values, value) {
			return ""
		}
		return "must be " + strings.Join(values[:len(values)-1], ", ") + " or " + values[len(values)-1]
	}
}

// count accepts whole numbers from least on.
func count(least int64) func(string) string {
	return func(value string) string {
		n, problem := parseWhole(value, "a whole number")
		if problem == "" && (n < least || n > math.MaxInt32) {
			problem = fmt.Sprintf("must be from %d to %d", least, math.MaxInt32)
		}
		return problem
	}
}

// fromKiB converts kilobytes, which are 1024 bytes each to librdkafka.
func fromKiB(value string) (string, string) {
	n, problem := parseWhole(value, "a whole number of kilobytes")
	if problem == "" && (n < 0 || n > math.MaxInt64>>10) {
		problem = "is out of range, want a whole number of kilobytes"
	}
	return strconv.FormatInt(n<<10, 10), problem
}

// fromFraction converts milliseconds with decimals, which librdkafka takes for
// the linger, and rounds up.
func fromFraction(value string) (string, string) {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > float64(maxMillis/time.Millisecond) {
		return "", fmt.Sprintf("must be a number of milliseconds from 0 to %d", maxMillis/time.Millisecond)
	}
	return strconv.FormatInt(int64(math.Ceil(f)), 10), ""
}

func roundedUp(value string) string {
	if whole, _ := fromFraction(value); strings.ContainsRune(value, '.') {
		return "is rounded up to " + whole + ", as linger.ms is whole milliseconds"
	}
	return ""
}

// notEndless refuses the 0 by which librdkafka means no end.
func notEndless(value string) (string, string) {
	if value == "0" {
		return "", fmt.Sprintf("would have no end as 0: write how long a record may wait, up to %d", maxMillis/time.Millisecond)
	}
	return value, ""
}
