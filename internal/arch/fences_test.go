package arch

import (
	"go/ast"
	"strings"
	"testing"
)

// arrow is an import that points the wrong way: a package in from must not
// import one in to.
type arrow struct{ from, to []string }

var wrong = []arrow{
	{[]string{"batcher"}, []string{"throttle", "retry", "config", "producer"}},
	{[]string{"throttle"}, []string{"batcher", "retry", "config", "producer"}},
	{[]string{"retry"}, []string{"batcher", "throttle", "config", "producer"}},
	{[]string{"config"}, []string{"batcher", "throttle", "retry", "producer", "internal"}},
	{[]string{"internal"}, []string{"config", "producer"}},
	{[]string{"config", "batcher", "throttle", "retry", "producer", "internal"}, []string{"examples", "bench"}},
}

func TestArrowsPointDown(t *testing.T) { mustHold(t, readAll(t), arrows) }

// arrows finds imports that point the wrong way.
func arrows(s *source) (faults []string) {
	for _, i := range s.imports() {
		inside := strings.TrimPrefix(i.path, module+"/")
		if inside == i.path {
			continue
		}
		for _, a := range wrong {
			if under(s.dir, a.from...) && under(inside, a.to...) {
				faults = append(faults, s.at(i)+": "+s.dir+" must not import "+inside)
			}
		}
	}
	return faults
}

func TestArrowFenceFails(t *testing.T) {
	plant := func(faults int, dir, to string) {
		t.Helper()
		mustFind(t, arrows, faults, dir, "package p\nimport _ \""+module+"/"+to+"\"")
	}
	plant(1, "batcher", "throttle")
	plant(1, "batcher", "retry")
	plant(1, "throttle", "batcher")
	plant(1, "throttle", "config")
	plant(1, "retry", "throttle")
	plant(1, "retry", "producer/producertest")
	plant(1, "config", "retry")
	plant(1, "config", "internal/conn")
	plant(1, "internal/conn", "config")
	plant(1, "internal/realkafka", "producer")
	plant(1, "producer", "examples/quickstart")
	plant(0, "producer", "config")
	plant(0, "producer", "throttle")
	plant(0, "batcher", "internal/wire")
	plant(0, "internal/conn", "retry")
	plant(0, "examples/quickstart", "producer/producertest")
	mustFind(t, arrows, 0, "retry", "package p\nimport _ \"github.com/cenkalti/backoff/v4\"")
}

func TestNothingBehindTheReadersBack(t *testing.T) { mustHold(t, readAll(t), hidden) }

// hidden finds what works around the language, or works before main does.
func hidden(s *source) (faults []string) {
	fault := func(n ast.Node, what string) { faults = append(faults, s.at(n)+": "+what) }
	for _, i := range s.imports() {
		if i.path == "unsafe" || i.path == "C" {
			fault(i, "import of "+i.path)
		}
	}
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:linkname") {
				fault(c, "go:linkname")
			}
		}
	}
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			fault(f, "func init")
		}
	}
	return faults
}

func TestHiddenFenceFails(t *testing.T) {
	mustFind(t, hidden, 1, "producer", "package p\nimport \"unsafe\"\nvar p unsafe.Pointer")
	mustFind(t, hidden, 1, "producer", "package p\nimport \"C\"")
	mustFind(t, hidden, 1, "producer", "package p\n\n//go:linkname now time.now\nfunc now()")
	mustFind(t, hidden, 1, "producer", "package p\nfunc init() {}")
	mustFind(t, hidden, 2, "producer", "package p\nfunc init() {}\nfunc init() {}")
	mustFind(t, hidden, 0, "producer", "package p\n// It has no init, and no go:linkname.\ntype t int\nfunc (t) init() {}")
}

func TestExportedIsExplained(t *testing.T) {
	for _, dir := range public {
		mustHold(t, read(t, dir), unexplained)
	}
}

// unexplained finds exported names without a comment.
func unexplained(s *source) (faults []string) {
	if s.file.Name.Name == "main" {
		return nil
	}
	for _, d := range s.file.Decls {
		var names []*ast.Ident
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Doc.Text() == "" && d.Name.IsExported() && !isWellKnown(d) && exportedReceiver(d) {
				names = append(names, d.Name)
			}
		case *ast.GenDecl:
			names = unexplainedSpecs(d)
		}
		for _, n := range names {
			faults = append(faults, s.at(n)+": "+n.Name+" has no comment")
		}
	}
	return faults
}

// unexplainedSpecs looks at the types, constants and variables of one
// declaration. A comment above a group speaks for its constants and variables,
// and one at the end of a line for what is in the line.
func unexplainedSpecs(d *ast.GenDecl) (names []*ast.Ident) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if d.Doc.Text() == "" && spec.Doc.Text() == "" && spec.Name.IsExported() {
				names = append(names, spec.Name)
			}
			if st, ok := spec.Type.(*ast.StructType); ok && spec.Name.Name == "Config" {
				names = append(names, unexplainedFields(st)...)
			}
		case *ast.ValueSpec:
			if d.Doc.Text() != "" || spec.Doc.Text() != "" || spec.Comment.Text() != "" {
				continue
			}
			for _, n := range spec.Names {
				if n.IsExported() && !isZeroValue(spec) {
					names = append(names, n)
				}
			}
		}
	}
	return names
}

// isZeroValue spares the first name of an enumeration, such as NoAlarm: the
// comment of the type speaks for it.
func isZeroValue(v *ast.ValueSpec) bool {
	if len(v.Values) != 1 || v.Type == nil {
		return false
	}
	first, ok := v.Values[0].(*ast.Ident)
	return ok && first.Name == "iota"
}

// unexplainedFields looks at the fields of a Config, of which each has a unit
// and a default to tell.
func unexplainedFields(st *ast.StructType) (names []*ast.Ident) {
	for _, f := range st.Fields.List {
		if f.Doc.Text() != "" || f.Comment.Text() != "" {
			continue
		}
		for _, n := range f.Names {
			if n.IsExported() {
				names = append(names, n)
			}
		}
	}
	return names
}

// isWellKnown names the methods that need no words of their own.
func isWellKnown(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return false
	}
	switch f.Name.Name {
	case "String", "GoString", "Format", "Error", "Unwrap", "Is", "MarshalText", "MarshalJSON", "UnmarshalText", "LogValue":
		return true
	}
	return false
}

func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	e := f.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return true
		}
	}
}

func TestExplanationFenceFails(t *testing.T) {
	for faults, sources := range map[int][]string{
		0: {
			"package p\n\n// F does.\nfunc F() {}",
			"package p\nfunc f() {}\ntype t int\nfunc (t) M() {}\nvar v, w int\nconst c = 1",
			"package p\n\n// T is.\ntype T int\n\nfunc (t T) String() string { return \"\" }",
			"package p\n\n// Both are limits.\nconst (\n\tA = 1\n\tB = 2\n)",
			"package p\n\n// T is.\ntype T int\n\nconst (\n\tNone T = iota\n\tSome // at least one\n)",
			"package main\nfunc F() {}",
			"package p\n\n// Config is.\ntype Config struct {\n\t// A is in bytes.\n\tA int\n\tB int // in bytes\n\tc int\n}",
		},
		1: {
			"package p\nfunc F() {}",
			"package p\ntype T int",
			"package p\nvar V int",
			"package p\nconst C = 1",
			"package p\n\n//go:noinline\nfunc F() {}", // a directive explains nothing
			"package p\n\n// T is.\ntype T int\n\nfunc (t *T) M() {}",
			"package p\n\n// T is.\ntype T[E any] struct{}\n\nfunc (t *T[E]) M() {}",
			"package p\n\n// T is.\ntype T int\n\nconst (\n\tNone T = iota\n\tSome\n)",
			"package p\n\n// Config is.\ntype Config struct{ A int }",
		},
		2: {"package p\nvar V, W int", "package p\ntype (\n\tT int\n\tU int\n)"},
	} {
		for _, src := range sources {
			mustFind(t, unexplained, faults, "producer", src)
		}
	}
}
