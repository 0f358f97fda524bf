package work

import (
	"slices"
	"testing"
)

func TestWorksHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range All() {
		id := w.Group + "/" + w.Name()
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
		if Text(w.Group) == "" {
			t.Errorf("group %q has no text", w.Group)
		}
	}
}

func TestSelect(t *testing.T) {
	for list, want := range map[string]int{"rate100": 3, "rate100/64p": 1, "cpu1k, latency": 3, "all": len(All()), "codecs/zstd": 2} {
		ws, err := Select(list)
		if err != nil || len(ws) != want {
			t.Errorf("%q: %d works, %v, want %d", list, len(ws), err, want)
		}
	}
	for _, list := range []string{"", "rate", "rate100/9p"} {
		if ws, err := Select(list); err == nil {
			t.Errorf("%q: %v", list, ws)
		}
	}
}

func TestValuesAreTheSameEveryTime(t *testing.T) {
	w := Work{Bytes: 100}
	a, b := w.Values(), w.Values()
	for i := range a {
		if len(a[i]) != w.Bytes || !slices.Equal(a[i], b[i]) {
			t.Fatalf("value %d differs", i)
		}
	}
}
