package sim

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The decisions of package flight are not copied here, so a mutant cannot change
// them by a hook. It changes the source that ships: the test binary is built anew
// with one file replaced (go test -overlay), and has to find that something is
// wrong, by an invariant that is named.

// takenOut is a rule that is taken out of a file.
type takenOut struct {
	name, origin string
	by           []string // the invariants that may find it
	file         string   // from here
	old, new     string
	tune         string    // of the runs, see tunes
	also         [2]string // old and new of a second place in the file, which keeps the same rule
}

// tunes are the options that help to find a mutant, by name: they have to get into
// another process.
var tunes = map[string]func(o *Options){
	"":          nil,
	"idle":      idle,
	"old":       old,
	"silent":    silent,
	"late":      late,
	"recreated": func(o *Options) { o.rate[fRecreate], o.every[fRecreate] = 65536, o.Faults/2 },
	"asking":    asking, "forgetful": forgetful, "zombies": zombies, "returns": returns, "liars": liars, "twoOwners": twoOwners,
	"unclean": uncleanElections, "longReplays": longReplays, "oneAnswers": oneAnswers,
}

var huntFlag = flag.String("sim.hunt", "no", "the options with which to look for a violation: of TestTakenOut")

// onlyTheLog behind the name of the options says that the wire is not judged.
const onlyTheLog = "-silent"

// foundMark is what a hunting process says before the violation.
const foundMark = "FOUND "

// TestHunt is what the other process does.
func TestHunt(t *testing.T) {
	if *huntFlag == "no" {
		t.Skip("no -sim.hunt")
	}
	var s sim
	name, silent := strings.CutSuffix(*huntFlag, onlyTheLog)
	m := mutant{tune: tunes[name]}
	m.logOnly = silent
	if sc, ok := m.find(&s, mutantSeeds); ok {
		fmt.Printf("%sseed %d, step %d: %s\n", foundMark, sc.seed, s.steps, s.broken)
	}
}

// TestTakenOut takes the rules out, one at a time.
func TestTakenOut(t *testing.T) {
	if testing.Short() || !patient {
		t.Skip("builds the tests once for each rule")
	}
	for i, m := range rulesOut {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			out := m.hunt(t, i)
			_, broken, ok := strings.Cut(out, foundMark)
			if !ok {
				t.Fatalf("not found within %d seeds:\n%s", mutantSeeds, out)
			}
			broken, _, _ = strings.Cut(broken, "\n")
			_, why, _ := strings.Cut(broken, ": ")
			if !slices.Contains(m.by, invariant(why)) {
				t.Errorf("%s, and not by %v", broken, m.by)
			}
			t.Logf("%s: %s", m.origin, broken)
		})
	}
}

// hunt builds the tests without the rule, and lets them look.
func (m *takenOut) hunt(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	path, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(dir, "changed.go")
	for _, edit := range [][2]string{{m.old, m.new}, m.also} {
		if edit[0] == "" {
			continue
		}
		if k := strings.Count(string(text), edit[0]); k != 1 {
			t.Fatalf("%s has %d times: %s", m.file, k, edit[0])
		}
		text = []byte(strings.Replace(string(text), edit[0], edit[1], 1))
	}
	write(t, changed, text)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), overlay)
	binary := filepath.Join(dir, fmt.Sprintf("hunt%d.test", n))
	run(t, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".")
	return run(t, binary, "-test.run=^TestHunt$", "-sim.hunt="+m.tune)
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// The options of the hunts find nothing in the client as it is.
func TestTunesFindNothing(t *testing.T) {
	for name, tune := range tunes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s sim
			sound := mutant{tune: tune}
			if sc, found := sound.find(&s, mutantSeeds/20); found {
				t.Errorf("seed %d: %s\n-sim.replay='%s'", sc.seed, s.broken, sc.String())
			}
		})
	}
}
