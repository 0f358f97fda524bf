package config

import (
	"strings"
	"unicode/utf8"

	"github.com/magiconair/properties"
)

// entry is one property as it was given.
type entry struct {
	name, value string
	origin      string
}

// line is a logical line of a .properties file: what is left of it when comments
// are gone and continuations joined. number is that of its first natural line.
type line struct {
	number int
	text   string
}

const blanks = " \t\f"

// logicalLines splits a file by the rules of java.util.Properties. The library
// then reads line by line, for on a whole file it shows neither duplicates nor
// line numbers, stops at the first bad line, and does not join continuations
// that end in CRLF.
func logicalLines(data string) []line {
	data = strings.TrimPrefix(data, "\ufeff")
	data = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(data)
	var lines []line
	var open *line // waits for its continuation
	number := 0
	for natural := range strings.SplitSeq(data, "\n") {
		number++
		natural = strings.TrimLeft(natural, blanks)
		if open == nil {
			if natural == "" || natural[0] == '#' || natural[0] == '!' {
				continue
			}
			lines = append(lines, line{number: number})
			open = &lines[len(lines)-1]
		}
		rest, continued := cutContinuation(natural)
		open.text += rest
		if !continued {
			open = nil
		}
	}
	return lines
}

// cutContinuation takes a backslash off the end, unless it is itself escaped.
func cutContinuation(s string) (string, bool) {
	backslashes := len(s) - len(strings.TrimRight(s, `\`))
	if backslashes%2 == 0 {
		return s, false
	}
	return s[:len(s)-1], true
}

// splitLine divides a logical line into name and value and resolves the escapes.
// The texts of the library's own errors can hold a part of the value, and a line
// without a name leaves a goroutine of it behind, so it does not get to see one.
func splitLine(text string) (name, value, problem string) {
	if strings.ContainsRune("=:#!\ufeff", firstRune(text)) {
		return "", "", "the line has no property name"
	}
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	p, err := loader.LoadBytes([]byte(text))
	if err != nil || p.Len() != 1 {
		return "", "", `the line has a \u that four hexadecimal digits do not follow`
	}
	name = p.Keys()[0]
	value, _ = p.Get(name)
	if strings.ContainsRune(name+value, utf8.RuneError) {
		return "", "", `the line has a \u that is no character of its own (write it as plain UTF-8)`
	}
	return name, value, ""
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// entriesOf reads a whole file; origin makes the Origin of a line. Lines that
// cannot be read become faults, and the others are still given.
func entriesOf(data string, origin func(number int) string) ([]entry, []*FieldError) {
	if i := invalidUTF8(data); i >= 0 {
		number := 1 + strings.Count(data[:i], "\n")
		return nil, []*FieldError{{Origin: origin(number), Problem: "the file is not valid UTF-8 here"}}
	}
	var entries []entry
	var faults []*FieldError
	for _, l := range logicalLines(data) {
		if l.text == "" { // a lone backslash
			continue
		}
		name, value, problem := splitLine(l.text)
		if problem != "" {
			faults = append(faults, &FieldError{Origin: origin(l.number), Problem: problem})
			continue
		}
		entries = append(entries, entry{name, value, origin(l.number)})
	}
	return entries, faults
}

// invalidUTF8 returns the place of the first byte that is not UTF-8, or -1.
func invalidUTF8(s string) int {
	for i, r := range s {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
			return i
		}
	}
	return -1
}
