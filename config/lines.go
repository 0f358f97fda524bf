package config

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// entry is one property as it was given.
type entry struct {
	name, value string
	origin      string
	line        int    // in a file, from 1; else 0
	problem     string // why the line cannot be read; name and value are empty then
}

// line is a logical line of a .properties file: what is left of it when comments
// are gone and continuations joined. number is that of its first natural line.
type line struct {
	number int
	text   string
}

const blanks = " \t\f"

// logicalLines splits a file by the rules of java.util.Properties. The library
// for it shows neither duplicates nor line numbers, stops at the first bad
// line, does not join continuations that end in CRLF, and brings net/http into
// every program that uses it; here it serves the tests to compare with.
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
func splitLine(text string) (name, value, problem string) {
	if strings.ContainsRune("=:#!\ufeff", firstRune(text)) {
		return "", "", "the line has no property name"
	}
	end := nameEnd(text)
	rest := strings.TrimLeft(text[end:], blanks)
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	name, ok1 := unescapeJava(text[:end])
	value, ok2 := unescapeJava(rest)
	switch {
	case !ok1 || !ok2:
		return "", "", `the line has a \u that four hexadecimal digits do not follow`
	case strings.ContainsRune(name+value, utf8.RuneError):
		return "", "", `the line has a \u that is no character of its own (write it as plain UTF-8)`
	}
	return name, value, ""
}

// nameEnd is where the name ends: before a blank, = or : that is not escaped.
func nameEnd(text string) int {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '=' || c == ':' || strings.IndexByte(blanks, c) >= 0:
			return i
		}
	}
	return len(text)
}

// unescapeJava resolves the escapes of java.util.Properties: a backslash before any
// other character stands for that character.
func unescapeJava(s string) (string, bool) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\`)
		b.WriteString(before)
		if !found || after == "" {
			return b.String(), true
		}
		c, size := utf8.DecodeRuneInString(after)
		s = after[size:]
		switch c {
		case 't', 'n', 'r', 'f':
			c = map[rune]rune{'t': '\t', 'n': '\n', 'r': '\r', 'f': '\f'}[c]
		case 'u':
			if len(s) < 4 {
				return "", false
			}
			n, err := strconv.ParseUint(s[:4], 16, 16)
			if err != nil {
				return "", false
			}
			c, s = rune(n), s[4:]
		}
		b.WriteRune(c)
	}
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// entriesOf reads a whole file; origin makes the Origin of a line. It is only a
// file that is not text that gives a fault.
func entriesOf(data string, origin func(number int) string) ([]entry, []*FieldError) {
	if i := invalidUTF8(data); i >= 0 {
		number := 1 + strings.Count(data[:i], "\n")
		return nil, []*FieldError{{Origin: origin(number), Problem: "the file is not valid UTF-8 here"}}
	}
	var entries []entry
	for _, l := range logicalLines(data) {
		if l.text == "" { // a lone backslash
			continue
		}
		e := entry{origin: origin(l.number), line: l.number}
		e.name, e.value, e.problem = splitLine(l.text)
		entries = append(entries, e)
	}
	return entries, nil
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
