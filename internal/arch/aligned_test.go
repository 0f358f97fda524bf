package arch

import (
	"go/ast"
	"regexp"
	"testing"
)

// unaligned are names of the atomic packages by which 64 bits are changed that a
// 32-bit compiler may align to 32: the plain integers of go.uber.org/atomic, and
// the functions of sync/atomic on a variable of the caller. The first use of such
// a one panics. The types Int64 and Uint64 of sync/atomic are always aligned.
var unaligned = map[string]*regexp.Regexp{
	"go.uber.org/atomic": regexp.MustCompile(`^(New)?(Int64|Uint64|Float64|Duration)$`),
	"sync/atomic":        regexp.MustCompile(`^[A-Z][a-z]+(AndSwap)?U?[Ii]nt64$`),
}

func TestAtomicsAreAligned(t *testing.T) { mustHold(t, readAll(t), misaligned) }

// misaligned finds 64-bit atomics that panic on a 32-bit target.
func misaligned(s *source) (faults []string) {
	names := map[string]*regexp.Regexp{}
	for _, i := range s.imports() {
		if bad := unaligned[i.path]; bad != nil && i.name == "." {
			faults = append(faults, s.at(i)+": import of "+i.path+" without its name")
		} else if bad != nil {
			names[i.name] = bad
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if n, ok := n.(*ast.SelectorExpr); ok {
			x, ok := n.X.(*ast.Ident)
			if ok && names[x.Name] != nil && names[x.Name].MatchString(n.Sel.Name) {
				faults = append(faults, s.at(n)+": "+x.Name+"."+n.Sel.Name+" may be aligned to 32 bits only")
			}
		}
		return true
	})
	return faults
}

func TestAlignmentFenceFails(t *testing.T) {
	for faults, sources := range map[int][]string{
		0: {
			"package p\nimport \"sync/atomic\"\ntype t struct { a atomic.Int64; b atomic.Uint64 }",
			"package p\nimport \"go.uber.org/atomic\"\ntype t struct { a atomic.Int32; b atomic.Time; c atomic.Error; d atomic.String }",
			"package p\nimport (std \"sync/atomic\"; \"go.uber.org/atomic\")\ntype t struct { a atomic.Bool; b std.Int64 }",
			"package p\nimport \"sync/atomic\"\nfunc f(p *int32) { atomic.AddInt32(p, 1) }",
		},
		1: {
			"package p\nimport \"go.uber.org/atomic\"\ntype t struct { a atomic.Int64 }",
			"package p\nimport \"go.uber.org/atomic\"\ntype t struct { a bool; b, c atomic.Uint64 }",
			"package p\nimport \"go.uber.org/atomic\"\ntype t struct { atomic.Duration }",
			"package p\nimport \"go.uber.org/atomic\"\nvar a = atomic.NewFloat64(1)",
			"package p\nimport uber \"go.uber.org/atomic\"\nvar a uber.Int64",
			"package p\nimport . \"go.uber.org/atomic\"\nvar a Int64",
			"package p\nimport \"sync/atomic\"\nfunc f(p *int64) { atomic.AddInt64(p, 1) }",
			"package p\nimport \"sync/atomic\"\nfunc f(p *uint64) bool { return atomic.CompareAndSwapUint64(p, 0, 1) }",
			"package p\nimport \"sync/atomic\"\nfunc f(p *uint64) uint64 { return atomic.LoadUint64(p) }",
		},
	} {
		for _, src := range sources {
			mustFind(t, misaligned, faults, "producer", src)
		}
	}
}
