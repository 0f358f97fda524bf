package config

import (
	"slices"
	"strings"
)

// candidate is a name to suggest, and how it is compared.
type candidate struct {
	name, squeezed, unitless string
}

var candidates = func() []candidate {
	var list []candidate
	for i := range table {
		p := &table[i]
		if _, unsettable := p.kind.(function); !unsettable && !p.isFamily() {
			list = append(list, candidate{p.name, squeeze(p.name), squeeze(withoutUnit(p.name))})
		}
	}
	return list
}()

// nearest returns the known property of which an unknown name is a misspelling, or
// nothing. A wrong guess does harm, so it must differ by a letter or two only, or by
// its separators, upper case or a missing unit; and never in what it means.
func nearest(unknown string) string {
	if len(unknown) > 100 { // no name is so long
		return ""
	}
	name := squeeze(unknown)
	best, bestDistance, tie := "", 0, false
	for i := range candidates {
		c := &candidates[i]
		d := c.distance(name)
		switch {
		case d < 0 || !sameMeaning(unknown, c.name):
		case best == "" || d < bestDistance:
			best, bestDistance, tie = c.name, d, false
		case d == bestDistance && lookup(c.name).canonical() != lookup(best).canonical():
			tie = true
		}
	}
	if tie {
		return ""
	}
	return best
}

// distance is how far a squeezed name is from a known one, or -1 if too far.
func (c *candidate) distance(name string) int {
	if name == c.squeezed || name == c.unitless {
		return 0
	}
	allowed := 2
	if min(len(name), len(c.squeezed)) < 8 {
		allowed = 1
	}
	if len(name)-len(c.squeezed) > allowed || len(c.squeezed)-len(name) > allowed || len(name) < 4 {
		return -1
	}
	if d := editDistance(name, c.squeezed); d <= allowed {
		return d
	}
	return -1
}

// squeeze leaves out what does not count as a difference: separators and case.
func squeeze(name string) string {
	return strings.ToLower(strings.Join(words(name), ""))
}

// words splits a name at its separators; names in one piece give one word.
func words(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("._- \t", r) })
}

// units end a name: another unit is another number.
var units = []string{"ms", "us", "ns", "s", "sec", "secs", "seconds", "minutes", "bytes", "kbytes", "kb", "mb", "messages", "records"}

// withoutUnit takes the last word off, if it says only of what kind the value is.
func withoutUnit(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 && (slices.Contains(units, name[i+1:]) || name[i+1:] == "type") {
		return name[:i]
	}
	return name
}

// sameMeaning refuses a guess where a short difference means another thing: another
// unit, or a bound on the other side.
func sameMeaning(unknown, known string) bool {
	a, b := words(strings.ToLower(unknown)), words(known)
	if len(a) == 0 {
		return false
	}
	if u := a[len(a)-1]; slices.Contains(units, u) && u != b[len(b)-1] {
		return false
	}
	for _, bound := range []string{"min", "max", "enable", "disable"} {
		if slices.Contains(a, bound) && !slices.Contains(b, bound) {
			return false
		}
	}
	return true
}

// editDistance counts the bytes to insert, remove or replace (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
