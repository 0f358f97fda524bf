// Package arch holds no code. Its tests read the source of the module and fail
// where it breaks the architecture of docs/design.md: pure packages stay pure,
// imports only point down, nothing is done behind the reader's back, and what
// is exported is explained. Every fence is also shown to fail, on a planted
// piece of source.
package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/sluice-kafka/sluice"
)

var (
	// pure: no clock, no I/O, no lock, no goroutine, no channel, no context.
	pure = []string{"batcher", "throttle", "retry", "internal/wire", "internal/cluster", "internal/brokermodel", "internal/flight", "internal/depth"}

	// public is what users import.
	public = []string{"config", "batcher", "throttle", "retry", "producer", "producer/producertest"}
)

// source is one file that is not a test.
type source struct {
	dir  string // of the package, from the root of the module
	name string
	fset *token.FileSet
	file *ast.File
}

func (s *source) at(n ast.Node) string {
	return path.Join(s.dir, s.name) + ":" + strconv.Itoa(s.fset.Position(n.Pos()).Line)
}

// parse reads one file; src is nil, or its text.
func parse(dir, name string, src any) (*source, error) {
	s := &source{dir: dir, name: name, fset: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.fset, filepath.Join(root, dir, name), src, parser.ParseComments)
	return s, err
}

func isCode(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// read returns the code of one package, nil if its directory is not there.
func read(t *testing.T, dir string) []*source {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []*source
	for _, e := range entries {
		if e.IsDir() || !isCode(e.Name()) {
			continue
		}
		s, err := parse(dir, e.Name(), nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// readAll returns the code of the module, without modules inside it.
func readAll(t *testing.T) []*source {
	t.Helper()
	var all []*source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if p != root {
			if name := d.Name(); name == "testdata" || name[0] == '.' || name[0] == '_' {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
				return fs.SkipDir
			}
		}
		dir, err := filepath.Rel(root, p)
		all = append(all, read(t, filepath.ToSlash(dir))...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// imported is one import of a file.
type imported struct {
	*ast.ImportSpec
	path string
	name string // by which the file calls it
}

func (s *source) imports() []imported {
	var all []imported
	for _, spec := range s.file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		all = append(all, imported{spec, p, name})
	}
	return all
}

// under reports whether p is one of the packages or inside one of them.
func under(p string, packages ...string) bool {
	return slices.ContainsFunc(packages, func(q string) bool { return p == q || strings.HasPrefix(p, q+"/") })
}

// mustHold fails the test for every fault that the fence finds in the sources.
func mustHold(t *testing.T, all []*source, fence func(*source) []string) {
	t.Helper()
	for _, s := range all {
		for _, fault := range fence(s) {
			t.Error(fault)
		}
	}
}

// mustFind feeds the fence a planted source of a package, which must have that
// many faults.
func mustFind(t *testing.T, fence func(*source) []string, faults int, dir, src string) {
	t.Helper()
	s, err := parse(dir, "planted.go", src)
	if err != nil {
		t.Fatal(err)
	}
	if got := fence(s); len(got) != faults {
		t.Errorf("want %d faults, found %d: %q in\n%s", faults, len(got), got, src)
	}
}

func TestPackagesAreWhereTheFencesLook(t *testing.T) {
	found := 0
	for _, dir := range append(slices.Clone(pure), public...) {
		if len(read(t, dir)) > 0 {
			found++
		}
	}
	if found == 0 {
		t.Error("no package was found: the fences hold nothing")
	}
	if len(readAll(t)) == 0 {
		t.Error("the module has no source")
	}
}

func TestProducerLinksNoConsumerAndNoTestBroker(t *testing.T) {
	if read(t, "producer") == nil {
		t.Skip("there is no producer yet")
	}
	out, err := exec.Command("go", "list", "-deps", module+"/producer").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, module+"/throttle") {
		t.Fatalf("go list names no dependency on throttle: %q", deps)
	}
	for _, fault := range notLinked(deps) {
		t.Error(fault)
	}
}

// notLinked names what the producer must not be linked with.
func notLinked(deps []string) (faults []string) {
	for _, d := range deps {
		if under(d, "github.com/twmb/franz-go/pkg/kgo", "github.com/twmb/franz-go/pkg/kfake", "testing",
			module+"/producer/producertest", module+"/internal/realkafka", module+"/internal/modelcheck") {
			faults = append(faults, "producer links "+d)
		}
	}
	return faults
}

func TestLinkFenceFails(t *testing.T) {
	got := notLinked([]string{
		"net", "github.com/twmb/franz-go/pkg/kmsg", "github.com/twmb/franz-go/pkg/kgo",
		"github.com/twmb/franz-go/pkg/kgo/internal/sticky", module + "/producer/producertest", module + "/throttle",
	})
	if len(got) != 3 {
		t.Errorf("found %q", got)
	}
}

func TestGoModReplacesNothing(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range replaced(string(text)) {
		t.Error(fault)
	}
}

// replaced names the replace directives of a go.mod.
func replaced(mod string) (faults []string) {
	for i, line := range strings.Split(mod, "\n") {
		line, _, _ = strings.Cut(line, "//")
		if f := strings.Fields(line); len(f) > 0 && (f[0] == "replace" || strings.HasPrefix(f[0], "replace(")) {
			faults = append(faults, "go.mod:"+strconv.Itoa(i+1)+": "+strings.TrimSpace(line))
		}
	}
	return faults
}

func TestReplaceFenceFails(t *testing.T) {
	if got := replaced("module x\n// replace nothing\nreplace a => ../a\nreplace (\n\tb => ../b\n)\nreplace(\n)\n"); len(got) != 3 {
		t.Errorf("found %q", got)
	}
	if got := replaced("module x\n\nrequire example.org/replace v1.0.0\n"); len(got) != 0 {
		t.Errorf("found %q", got)
	}
}
