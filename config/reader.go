package config

import (
	"cmp"
	"fmt"
	"strings"
)

// reader turns entries into a Config, one after the other.
type reader struct {
	c      Config
	faults []*FieldError

	given map[string]entry // by the name as given
	set   map[string]entry // by the canonical name

	// A value ends with its line, unless there is a backslash; who forgets that has
	// parts of a secret on lines of their own. So lines that are no property are
	// suspect after anything that may have been secret. Owner is that property, if
	// its name may be shown.
	suspect bool
	owner   string
	rest    *rest
}

// rest is a run of lines that are no properties.
type rest struct {
	fault       *FieldError
	first, last int
}

func fromEntries(entries []entry, faults []*FieldError) (Config, error) {
	r := reader{c: Default(), faults: faults, given: map[string]entry{}, set: map[string]entry{}}
	for i, e := range entries {
		switch p := lookup(e.name); {
		case e.problem != "":
			r.report(&FieldError{Origin: e.origin, Problem: e.problem})
			r.suspect, r.owner, r.rest = true, "", nil
		case p == nil:
			r.unknown(e, fmt.Sprintf("property %d of %d by name", i+1, len(entries)))
		default:
			r.known(p, e)
		}
	}
	r.faults = append(r.faults, jaasFaults(&r.c, r.set)...)
	if len(r.faults) > 0 {
		return Config{}, join(r.faults)
	}
	r.c.Warnings = append(r.c.Warnings, partitionerWarning(r.given)...)
	return r.c, nil
}

func (r *reader) report(f *FieldError) { r.faults = append(r.faults, f) }

// known sets one property, unless the same was set before.
func (r *reader) known(p *property, e entry) {
	r.rest, r.suspect, r.owner = nil, false, ""
	if e.line > 0 && p.isSensitive(e.value) {
		r.suspect, r.owner = true, p.shown(e)
	}
	name := p.canonical()
	if p.isFamily() {
		name = e.name
	}
	if first, twice := r.given[e.name]; twice {
		r.report(&FieldError{Property: p.shown(e), Origin: e.origin, Problem: "was given before, at " + first.origin})
		return
	}
	if first, twice := r.set[name]; twice {
		r.report(&FieldError{Property: p.shown(e), Origin: e.origin,
			Problem: "sets the same as " + lookup(first.name).shown(first) + at(first) + ": keep one of them"})
		return
	}
	r.given[e.name], r.set[name] = e, e
	r.apply(p, e)
}

// at is where an entry was found, in a sentence.
func at(e entry) string {
	if e.origin == "" {
		return ""
	}
	return ", which is given at " + e.origin
}

// apply reads the value of a property and judges it by itself.
func (r *reader) apply(p *property, e entry) {
	value := e.value
	if lookup(p.canonical()).field != "SASLPassword" {
		value = strings.TrimSpace(value)
	}
	problem := p.kind.parse(&r.c, value)
	faults := []fault{{value, problem}}
	if problem == "" {
		faults = p.kind.check(&r.c)
	}
	for _, f := range faults {
		if p.canonical() != p.name { // in the unit of the name that was given
			f.value = value
		}
		fault := p.fault(f)
		fault.Property, fault.Origin = p.shown(e), e.origin
		r.report(fault)
	}
	if w, ok := p.kind.(warner); ok {
		if note := w.warning(value); note != "" {
			r.c.Warnings = append(r.c.Warnings, Warning{Property: p.shown(e), Problem: note, Origin: e.origin})
		}
	}
	for _, name := range p.sets() {
		set := lookup(name)
		r.c.given = append(r.c.given, given{name, p.shown(e), e.origin, set.visible(set.kind.text(&r.c))})
	}
}

// unknown reports a name that no client has. The name itself is shown only where
// it cannot be a part of a secret; place is where it is in a map.
func (r *reader) unknown(e entry, place string) {
	meant := nearest(e.name)
	problem := "unknown property"
	if meant != "" {
		problem += "; did you mean " + meant + "?"
	}
	first, twice := r.given[e.name]
	switch {
	case twice:
		r.report(&FieldError{Property: e.name, Origin: e.origin, Problem: "was given before, at " + first.origin})
	case meant != "" || !r.suspect && isNameLike(e.name):
		r.given[e.name] = e
		r.report(&FieldError{Property: e.name, Origin: e.origin, Problem: problem})
	case e.line == 0:
		r.report(&FieldError{Origin: cmp.Or(e.origin, place), Problem: "unknown property, whose name is not shown, as it may be part of a secret"})
	default:
		r.goOn(e)
		return
	}
	r.suspect, r.owner, r.rest = e.line > 0, "", nil
	if sensitive.MatchString(meant) {
		r.owner = meant
	}
}

// goOn reports a run of lines as one fault.
func (r *reader) goOn(e entry) {
	if r.rest == nil {
		r.rest = &rest{fault: &FieldError{Property: r.owner, Origin: e.origin}, first: e.line}
		r.report(r.rest.fault)
		r.suspect = true
	}
	r.rest.last = e.line
	lines := "this line is"
	if r.rest.last > r.rest.first {
		lines = fmt.Sprintf("lines %d to %d are", r.rest.first, r.rest.last)
	}
	problem := lines + " no known property, and not shown, as it may be part of a secret"
	if r.owner != "" {
		problem += "; a value goes on in the next line only after a backslash (with \\n\\ at the end of each line of a PEM text)"
	}
	r.rest.fault.Problem = problem
}
