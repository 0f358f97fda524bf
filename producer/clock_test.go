package producer

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// K73: waits are measured with the monotonic clock, which a wall clock that is
// set back cannot stretch. A time.Time has it as long as nothing strips it; so
// what strips it, or makes times without it, is listed here with its reason.
var wallClock = map[string]string{
	"checkpoint.go String UTC":         "shown to people",
	"checkpoint.go form UTC":           "a checkpoint outlives the process",
	"checkpoint.go into UTC":           "a checkpoint outlives the process",
	"checkpoint_binary.go binary Unix": "a checkpoint outlives the process",
	"checkpoint_binary.go form Unix":   "a checkpoint outlives the process",
	"checkpoint_binary.go form UTC":    "a checkpoint outlives the process",
	"checkpoint_json.go parseJSON UTC": "a checkpoint outlives the process",
	"owed.go digest UnixMilli":         "timestamps of records",
	"trouble.go Error UTC":             "for people to read",
	"mark.go Mark Round":               "a checkpoint outlives the process",
	"admission.go arrive UnixMilli":    "timestamps of records",
	"produce.go produce UnixMilli":     "timestamps of records",
	"produce.go produce Unix":          "timestamps of records",
	"delivery.go result UnixMilli":     "timestamps of records",
	"delivery.go callEach UnixMilli":   "timestamps of records",
	"take.go age Round":                "a suspended host stops the monotonic clock (R7)",
	"partition.go noteAge UnixMilli":   "what a broker judges by: timestamps of records (R7)",
	"settle.go anchored UnixMilli":     "what a broker judges by: timestamps of records (R7)",
}

func TestK73OnlyTimestampsUseTheWallClock(t *testing.T) {
	strips := map[string]bool{}
	for _, name := range strings.Fields("Unix UnixMilli UnixMicro UnixNano Round Truncate Date UTC Local In Parse AddDate MarshalText MarshalBinary GobEncode MarshalJSON") {
		strips[name] = true
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		files++
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || !strips[sel.Sel.Name] {
					return true
				}
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name != "time" && sel.Sel.Name == "Parse" {
					return true // of another package
				}
				at := e.Name() + " " + fn.Name.Name + " " + sel.Sel.Name
				if _, ok := wallClock[at]; !ok {
					t.Errorf("%s: is there a reason for the wall clock?", at)
				}
				return true
			})
		}
	}
	if files < 10 {
		t.Errorf("only %d files were read", files)
	}
}
