package arch

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// numbered are the pages that say what a number means, and the letters that each
// of them explains.
var numbered = map[string]string{"docs/field-problems.md": "K", "docs/invariants.md": "IR"}

var (
	number  = regexp.MustCompile(`\b[KIR]\d{1,2}\b`)
	inName  = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)([KIR]\d{1,2})(?:\D|$)`)
	heading = regexp.MustCompile(`(?m)^### ([KIR]\d{1,2})\b`)
	// outside finds section numbers of pages that are not in the repository.
	outside = regexp.MustCompile(`\b(?:protocol|design|reliability)(?:\.md)?,? (?:section )?\d+(?:\.\d+)*\b|\b[A-H]\.\d{1,2} M\d+\b`)
	inMD    = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`")
	testFun = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
)

// reference is a number, or something else that a reader has to look up.
type reference struct{ at, what string }

// lookUps returns what a file refers to: comments, strings and names of tests of
// a Go file, all of a page.
func lookUps(name, text string) (refs []reference) {
	find := func(line int, text string) {
		for i, l := range strings.Split(text, "\n") {
			for _, what := range slices.Concat(number.FindAllString(l, -1), outside.FindAllString(l, -1)) {
				refs = append(refs, reference{name + ":" + strconv.Itoa(line+i), what})
			}
		}
	}
	if !strings.HasSuffix(name, ".go") {
		find(1, text)
		return refs
	}
	fset := token.NewFileSet()
	file := fset.AddFile(name, -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return refs
		case token.COMMENT, token.STRING:
			find(file.Line(pos), lit)
		case token.IDENT:
			if m := inName.FindStringSubmatch(lit); m != nil {
				refs = append(refs, reference{name + ":" + strconv.Itoa(file.Line(pos)), m[1]})
			}
		}
	}
}

// texts returns the Go files and the pages of the repository, modules inside it
// included, by their path from the root.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); p != root && (name == "testdata" || name[0] == '.') {
				return fs.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(p); ext != ".go" && ext != ".md" {
			return nil
		}
		text, err := os.ReadFile(p)
		name, _ := filepath.Rel(root, p)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// explained returns the numbers that have an entry on the page of their letter.
func explained(all map[string]string) map[string]bool {
	has := map[string]bool{}
	for page, letters := range numbered {
		for _, m := range heading.FindAllStringSubmatch(all[page], -1) {
			has[m[1]] = strings.Contains(letters, m[1][:1])
		}
	}
	return has
}

// TestReferencesHaveEntries: whoever meets a number finds in this repository what
// it means.
func TestReferencesHaveEntries(t *testing.T) {
	all := texts(t)
	has := explained(all)
	if !has["K01"] || !has["I1"] || !has["R1"] {
		t.Fatalf("the pages have no entries, or others than before: %d", len(has))
	}
	for name, text := range all {
		for _, r := range lookUps(name, text) {
			if !has[r.what] {
				t.Errorf("%s: %s has no entry in %s or %s", r.at, r.what, "docs/field-problems.md", "docs/invariants.md")
			}
		}
	}
}

// TestPagesNameTestsThatExist: a test that a page names is there, or it is the
// beginning of the names of several.
func TestPagesNameTestsThatExist(t *testing.T) {
	all := texts(t)
	var tests []string
	for name, text := range all {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range testFun.FindAllStringSubmatch(text, -1) {
				tests = append(tests, m[1])
			}
		}
	}
	for name, text := range all {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, m := range inMD.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(tests, func(f string) bool { return strings.HasPrefix(f, m[1]) }) {
				t.Errorf("%s names %s, and there is no such test", name, m[1])
			}
		}
	}
}

func TestReferenceFenceFails(t *testing.T) {
	k, i, section := "K"+"99", "I"+"98", "protocol"+" 5.2"
	for name, tc := range map[string]struct {
		file, text string
		want       []string
	}{
		"a comment":          {"a.go", "package p\n\n// f is " + k + ".\nfunc f() {}\n", []string{k}},
		"a string":           {"a.go", "package p\nvar s = \"" + i + ": broken\"\n", []string{i}},
		"the name of a test": {"a_test.go", "package p\nfunc Test" + k + "Close() {}\n", []string{k}},
		"a page":             {"docs/a.md", "As in " + k + ", and (" + i + ").\n", []string{k, i}},
		"a section":          {"a.go", "package p // " + section + "\n", []string{section}},
		"a name":             {"a.go", "package p\ntype " + k + " int\n", nil},
		"a ticket":           {"docs/a.md", "KAFKA-15591, RFC 3339, 16K, RF 3, design.md, rule 5.\n", nil},
	} {
		var got []string
		for _, r := range lookUps(tc.file, tc.text) {
			got = append(got, r.what)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: found %q, want %q", name, got, tc.want)
		}
	}
	if has := explained(map[string]string{"docs/invariants.md": "### I7 x\n\n### K01 y\n\n" + i}); !has["I7"] || has[i] || has["K01"] {
		t.Errorf("explained: %v", has)
	}
}
