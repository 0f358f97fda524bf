package producer

import "testing"

// Whether a call comes from a callback costs nothing to find out while none runs.
func TestNoCallbackCostsNothing(t *testing.T) {
	d := &deliverer{}
	if n := testing.AllocsPerRun(100, func() {
		if d.inCallback() {
			t.Error("in a callback")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
