package arch

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// guests are the calls that run code of the user, or wait for somebody: the log (its
// handler), callbacks, the Dialer and the login. None is made with a lock held
// (docs/locks.md).
var guests = []string{"done", "call", "callEach", "dial", "Dial", "Handle", "Authenticate", "Challenge", "Write", "ReadFrame"}

func TestNoUserCodeUnderALock(t *testing.T) {
	all := read(t, "producer")
	if len(all) == 0 {
		t.Fatal("there is no producer")
	}
	mustHold(t, all, underLock)
}

// underLock finds user code that is called between Lock and Unlock of a function,
// and log lines in methods of a partition. Those may be called with its lock held,
// so they hand their lines to effects, which do writes.
func underLock(s *source) (faults []string) {
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		w := &lockWalk{s: s}
		w.block(f.Body.List, nil)
		faults = append(faults, w.faults...)
		if receiver(f) == "partition" && f.Name.Name != "do" {
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if x, ok := n.(*ast.SelectorExpr); ok && logs(x) {
					faults = append(faults, s.at(n)+": a method of a partition logs, perhaps with its lock held")
				}
				return true
			})
		}
	}
	return faults
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		return ""
	}
	e := f.Recv.List[0].Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if name, ok := e.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// lockWalk goes through the statements of a function with the locks that are held.
type lockWalk struct {
	s      *source
	faults []string
}

// block returns what is held behind the statements, and whether they come to an end.
func (w *lockWalk) block(list []ast.Stmt, held []string) (after []string, ends bool) {
	for _, stmt := range list {
		held = w.stmt(stmt, held)
		switch stmt.(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			ends = true
		}
	}
	return held, ends
}

func (w *lockWalk) stmt(stmt ast.Stmt, held []string) []string {
	switch x := stmt.(type) {
	case *ast.DeferStmt:
		if isUnlock(x.Call) {
			return held // until the end
		}
	case *ast.BlockStmt:
		held, _ = w.block(x.List, held)
		return held
	case *ast.ExprStmt:
		if call, ok := x.X.(*ast.CallExpr); ok {
			switch sel, _ := call.Fun.(*ast.SelectorExpr); {
			case sel == nil:
			case sel.Sel.Name == "Lock" || sel.Sel.Name == "RLock":
				return append(slices.Clone(held), sel.Sel.Name)
			case isUnlock(call) && len(held) > 0:
				return held[:len(held)-1]
			}
		}
	}
	// What is inside of it, with the blocks on their own.
	ast.Inspect(stmt, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			w.block(n.Body.List, nil) // it runs later, or elsewhere
			return false
		case *ast.BlockStmt:
			if after, ends := w.block(n.List, held); !ends {
				held = after
			}
			return false
		case *ast.CallExpr:
			w.call(n, held)
		}
		return true
	})
	return held
}

func (w *lockWalk) call(call *ast.CallExpr, held []string) {
	if len(held) == 0 {
		return
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if ok && (logs(sel) || slices.Contains(guests, sel.Sel.Name)) {
		w.faults = append(w.faults, w.s.at(call)+": "+sel.Sel.Name+" is called with a lock held")
	}
}

// logs reports whether it is a method of something called log.
func logs(sel *ast.SelectorExpr) bool {
	switch x := sel.X.(type) {
	case *ast.SelectorExpr:
		return x.Sel.Name == "log"
	case *ast.Ident:
		return x.Name == "log"
	}
	return false
}

func isUnlock(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && strings.HasSuffix(sel.Sel.Name, "Unlock")
}

func TestLockFenceFails(t *testing.T) {
	in := func(body string) string { return "package p\nfunc (p *thing) f(x int) {\n" + body + "\n}" }
	for faults, sources := range map[int][]string{
		0: {
			in("p.mu.Lock()\np.n++\np.mu.Unlock()\np.log.Info(\"x\")"),
			in("p.mu.Lock()\nif x > 0 {\np.mu.Unlock()\nreturn\n}\np.mu.Unlock()\np.pr.log.Info(\"x\")"),
			in("p.mu.Lock()\ndefer p.mu.Unlock()\np.go_(func() { p.log.Info(\"x\") })"),
			in("p.fx.say(\"x\")\np.d.done(x)"),
			"package p\nfunc (p *partition) do() { p.pr.log.Info(\"x\") }",
			"package p\nfunc (p *partition) hear() { p.fx.say(\"x\") }",
		},
		1: {
			in("p.mu.Lock()\np.log.Info(\"x\")\np.mu.Unlock()"),
			in("p.mu.Lock()\ndefer p.mu.Unlock()\np.pr.log.Warn(\"x\")"),
			in("p.mu.Lock()\nif x > 0 {\np.mu.Unlock()\nreturn\n}\np.pr.log.Info(\"x\")\np.mu.Unlock()"),
			in("p.mu.RLock()\nfor range x {\nif x > 1 {\np.d.done(x)\n}\n}\np.mu.RUnlock()"),
			in("p.a.Lock()\np.b.Lock()\np.b.Unlock()\nc, err := p.dial(x)\np.a.Unlock()"),
			"package p\nfunc (p *partition) hear() { p.pr.log.Info(\"x\") }",
			"package p\nfunc (p *partition) hear(x int) {\nif x > 0 {\np.pr.log.Info(\"x\")\n}\n}",
		},
	} {
		for _, src := range sources {
			mustFind(t, underLock, faults, "producer", src)
		}
	}
}
