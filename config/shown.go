package config

import (
	"regexp"
	"strings"
	"unicode"
)

// What may be seen in an error, a log or a listing: the names of known
// properties, and values that are of a kind known to be harmless and look like
// it. Everything else can be a secret that got into the wrong place: a key pasted
// over many lines, a password behind a broken line.

// isShort is the look of a number, a word or a name of a codec, right or wrong.
func isShort(value string) bool { return len(value) <= 32 && isPlain(value) }

// isPlain tells one line of text from the content of a file.
func isPlain(value string) bool {
	return !strings.Contains(value, "-----") && strings.IndexFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// isText tells a name, of a file too, from a line of its content.
func isText(value string) bool { return isPlain(value) && !isBase64(value) }

// isBase64 finds a line of a PEM file or a token. Long relative paths can look so,
// if they mix upper case, lower case and digits and have neither a dot nor a hyphen.
func isBase64(value string) bool {
	var upper, lower, digit bool
	for i := range len(value) {
		switch c := value[i]; {
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= '0' && c <= '9':
			digit = true
		case c != '+' && c != '/' && c != '=':
			return false
		}
	}
	return len(value) >= 32 && upper && lower && digit && value[0] != '/'
}

// propertyLike is the look of a property name: words of lower case, at least two.
var propertyLike = regexp.MustCompile(`^[a-z][a-z0-9]{0,19}([._-][a-z0-9]{1,20}){1,7}$`)

// passwordLike begins what is called a password where it stands.
var passwordLike = regexp.MustCompile(`^(pass|pwd|pw|secret|token|cred|key|user|login)|[0-9].*[0-9].*[0-9].*[0-9]`)

// isNameLike reports whether an unknown name may be shown where nothing before it
// makes it suspicious.
func isNameLike(name string) bool {
	return propertyLike.MatchString(name) && !passwordLike.MatchString(name)
}
