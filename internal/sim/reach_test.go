package sim

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/sluice-kafka/sluice/throttle"
)

// Variants break rules that the window keeps inside. They reach into it here,
// and nowhere else, so that throttle needs no switches for them.

// entryIn is throttle's entry of a batch.
type entryIn struct {
	records int32
	base    throttle.Sequence
	out     bool
	doubt   bool
	refused bool
	stray   bool
}

// throttle's phases
const (
	inGate uint8 = iota
	inOpen
	inDrain
	inSweep
	inVouch
)

// in is a field of a window.
func in[T any](w *throttle.Window, name string) *T {
	f := reflect.ValueOf(w).Elem().FieldByName(name)
	if f.Type().Size() != unsafe.Sizeof(*new(T)) {
		panic("sim: throttle.Window." + name + " has another size")
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}

func phaseOf(w *throttle.Window) *uint8 { return in[uint8](w, "phase") }

func entryAt(w *throttle.Window, i uint64) *entryIn {
	ring := *in[[]entryIn](w, "ring")
	return &ring[i&uint64(len(ring)-1)]
}

// begin starts an epoch, whatever is in doubt.
func begin(w *throttle.Window, id int64, epoch int16) {
	una, maximum := *in[uint64](w, "una"), in[uint64](w, "max")
	for i := una; i < *maximum; i++ {
		*entryAt(w, i) = entryIn{records: entryAt(w, i).records}
	}
	*in[int64](w, "producerID"), *in[int16](w, "epoch") = id, epoch
	*in[int32](w, "next"), *in[bool](w, "anchored"), *in[bool](w, "acked") = 0, false, false
	*maximum, *in[uint64](w, "nxt"), *in[uint64](w, "resumeAt") = una, una, 0
	*phaseOf(w) = inGate
}

func TestReachIsThrottles(t *testing.T) {
	ours := reflect.TypeFor[entryIn]()
	ring, _ := reflect.TypeFor[throttle.Window]().FieldByName("ring")
	theirs := ring.Type.Elem()
	if ours.Size() != theirs.Size() || ours.NumField() != theirs.NumField() {
		t.Fatalf("throttle's entry is %v", theirs)
	}
	for i := range ours.NumField() {
		if o, th := ours.Field(i), theirs.Field(i); o.Name != th.Name || o.Offset != th.Offset {
			t.Errorf("field %d is %s, not %s", i, th.Name, o.Name)
		}
	}
	w := throttle.New()
	for phase, name := range map[uint8]string{inGate: "gate", inOpen: "open", inDrain: "drain", inSweep: "sweep", inVouch: "vouch"} {
		if *phaseOf(w) = phase; w.State().Phase != name {
			t.Errorf("phase %d is %s, not %s", phase, w.State().Phase, name)
		}
	}
}
