package producer

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// trouble is what has gone wrong so far with a batch, or with a partition. It is
// as large after a thousand connections as after one, and it does not change: all
// batches that went through the same share one. Nil is no trouble.
type trouble struct {
	verdict error // why it was given up, nil before
	latest  error // cause; nil if there was none but the verdict
	first   error // cause
	count   int   // causes
	since   time.Time
}

// and is the trouble with one more cause.
func (t *trouble) and(cause error, now time.Time) *trouble {
	if t == nil || t.count == 0 {
		return &trouble{latest: cause, first: cause, count: 1, since: now}
	}
	return &trouble{latest: cause, first: t.first, count: t.count + 1, since: t.since}
}

// ended is the trouble of what is given up for a reason.
func (t *trouble) ended(verdict error) *trouble {
	if t == nil {
		return &trouble{verdict: verdict}
	}
	n := *t
	if n.verdict = verdict; t.latest != nil && errors.Is(t.latest, verdict) {
		n.verdict = nil // the cause says it
	}
	return &n
}

// err is the trouble as an error, nil if there is none.
func (t *trouble) err() error {
	if t == nil {
		return nil
	}
	return t
}

// cause is what happened last, nil if nothing did.
func (t *trouble) cause() error {
	if t == nil {
		return nil
	}
	return t.latest
}

// Error returns the verdict, the present cause and, where there were several, how
// many since when, and the first one if it was another.
func (t *trouble) Error() string {
	var said []string
	for _, err := range []error{t.verdict, t.latest} {
		if err != nil {
			said = append(said, oneLine(err.Error(), longestCause))
		}
	}
	text := strings.Join(said, ": ")
	if t.count < 2 {
		return text
	}
	text += fmt.Sprintf(" (%d times since %s", t.count, t.since.UTC().Format(time.RFC3339))
	if first := oneLine(t.first.Error(), longestFirst); first != oneLine(t.latest.Error(), longestFirst) {
		text += "; first: " + first
	}
	return text + ")"
}

// Unwrap returns the verdict, the present cause and the first one.
func (t *trouble) Unwrap() []error {
	var all []error
	for _, err := range []error{t.verdict, t.latest, t.first} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// An error is one line of a log, however much went into it.
const (
	longestError = 1 << 10
	longestCause = 400
	longestFirst = 160
)

// because joins a reason with what happened last, if that says more.
func because(reason, last error) error {
	switch {
	case last == nil:
		return reason
	case errors.Is(last, reason):
		return last
	}
	return &caused{reason, last}
}

// caused is a reason and the cause behind it.
type caused struct{ reason, cause error }

func (e *caused) Error() string {
	return oneLine(e.reason.Error(), longestCause) + ": " + oneLine(e.cause.Error(), longestCause)
}

func (e *caused) Unwrap() []error { return []error{e.reason, e.cause} }

// several joins errors of things that were tried side by side: nil if there are
// none. Its text has the first ones and how many there are.
func several(errs ...error) error {
	var all []error
	for _, err := range errs {
		if err != nil {
			all = append(all, err)
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &joined{all}
}

type joined struct{ errs []error }

func (e *joined) Error() string {
	const shown = 3
	var said []string
	for _, err := range e.errs[:min(shown, len(e.errs))] {
		said = append(said, oneLine(err.Error(), longestError/(shown+1)))
	}
	text := strings.Join(said, "; ")
	if more := len(e.errs) - shown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func (e *joined) Unwrap() []error { return e.errs }

// oneLine makes a text one line of at most so many bytes. Of one that is too long the
// beginning and the end are left: the end often has the cause.
func oneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ';'
		case r < ' ' || r == 0x7f || r == utf8.RuneError || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return ' '
		}
		return r
	}, text)
	const gap = " ... "
	if len(text) <= most {
		return text
	}
	head := (most - len(gap)) * 2 / 3
	tail := len(text) - (most - len(gap) - head)
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + gap + text[tail:]
}
