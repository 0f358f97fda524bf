package arch

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// impure are packages of the library that read a clock, do I/O, wait or lock.
var impure = []string{
	"sync", "net", "os", "context", "math/rand", "crypto/rand", "syscall", "log", "io/fs", "io/ioutil", "path/filepath",
	"bufio", "runtime", "unique", "testing", "unsafe", "go.uber.org/atomic", "plugin", "embed",
}

// clock is what package time offers to read a clock or to wait. Its types and
// its arithmetic are welcome: time comes in as an argument.
var clock = map[string]bool{
	"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "AfterFunc": true, "Tick": true,
	"NewTimer": true, "NewTicker": true, "Timer": true, "Ticker": true, "LoadLocation": true, "Local": true,
}

func TestPurePackages(t *testing.T) {
	for _, dir := range pure {
		mustHold(t, read(t, dir), purity)
	}
}

// purity finds what a pure package must not have.
func purity(s *source) (faults []string) {
	fault := func(n ast.Node, what string) { faults = append(faults, s.at(n)+": "+what+" in a pure package") }
	clockName := ""
	for _, i := range s.imports() {
		switch inside := strings.TrimPrefix(i.path, module+"/"); {
		case under(i.path, impure...), i.path == "C":
			fault(i, "import of "+i.path)
		case inside != i.path && !under(inside, pure...):
			fault(i, "import of a package that is not pure: "+inside)
		case i.path == "time" && i.name == ".":
			fault(i, "import of time without its name")
		case i.path == "time":
			clockName = i.name
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			fault(n, "go statement")
		case *ast.ChanType:
			fault(n, "channel")
		case *ast.SelectStmt:
			fault(n, "select")
		case *ast.SendStmt:
			fault(n, "send to a channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				fault(n, "receive from a channel")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && clockName != "" && x.Name == clockName && clock[n.Sel.Name] {
				fault(n, "time."+n.Sel.Name)
			}
		}
		return true
	})
	return faults
}

func TestPurityFenceFails(t *testing.T) {
	for faults, sources := range map[int][]string{
		0: {
			"package p\nimport \"time\"\nfunc f(now time.Time) time.Duration { return now.Sub(now) + time.Second }",
			"package p\nimport (\"math\"; \"slices\"; \"encoding/binary\"; \"github.com/twmb/franz-go/pkg/kmsg\")",
			"package p\nimport \"" + module + "/internal/brokermodel\"",
			"package p\ntype t struct{ Now int }\nfunc f(time t) int { return time.Now }", // another time
		},
		1: {
			"package p\nimport \"sync\"",
			"package p\nimport \"sync/atomic\"",
			"package p\nimport \"net\"",
			"package p\nimport \"net/netip\"",
			"package p\nimport \"os\"",
			"package p\nimport \"context\"",
			"package p\nimport \"math/rand\"",
			"package p\nimport \"math/rand/v2\"",
			"package p\nimport \"go.uber.org/atomic\"",
			"package p\nimport \"" + module + "/internal/conn\"",
			"package p\nimport \"" + module + "/config\"",
			"package p\nimport . \"time\"",
			"package p\nimport \"time\"\nvar t = time.Now()",
			"package p\nimport \"time\"\nvar now = time.Now", // as a value
			"package p\nimport \"time\"\nfunc f() { time.Sleep(1) }",
			"package p\nimport \"time\"\nfunc f() { time.AfterFunc(1, nil) }",
			"package p\nimport \"time\"\nfunc f(t time.Time) time.Duration { return time.Since(t) }",
			"package p\nimport clock \"time\"\nvar t = clock.NewTimer(1)",
			"package p\nfunc f() { go f() }",
			"package p\ntype t struct{ c chan int }",
			"package p\nfunc f() { select {} }",
		},
		2: {"package p\nfunc f(c chan int) { c <- 1 }", "package p\nfunc f(c <-chan int) { <-c }"},
	} {
		for _, src := range sources {
			mustFind(t, purity, faults, "throttle", src)
		}
	}
}
