package producer

import (
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// Flush, Close and others would wait for the very callback that calls them. Go has
// no way to ask "am I in that goroutine", so it is found out in three steps, of which
// nearly all calls need the first one only: does a callback run at all; is one on the
// stack of the caller; and, as that may be another producer's, is it that goroutine.

// inCallback reports whether the caller is a delivery callback.
func (d *deliverer) inCallback() bool {
	return d.inside.Load() && callbackOnStack() && d.goroutine.Load() == goroutineID()
}

// callbackOnStack reports whether the goroutine runs a callback of any producer. It
// compares addresses of code, and prints none, which is what makes a stack trace dear.
func callbackOnStack() bool {
	callers := callersOfCallbacks()
	var pcs [64]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		for _, pc := range pcs[:n] {
			for _, c := range callers {
				if c.first < pc && pc <= c.last {
					return true
				}
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

// code is where the instructions of a function are.
type code struct{ first, last uintptr }

// callersOfCallbacks are the functions that call what the user passed to Produce.
var callersOfCallbacks = sync.OnceValue(func() [2]code {
	return [2]code{codeOf((*partition).callEach), codeOf((*Producer).call)}
})

func codeOf(f any) code {
	first := reflect.ValueOf(f).Pointer()
	entry := runtime.FuncForPC(first).Entry()
	last := first
	for next := runtime.FuncForPC(last + 1); next != nil && next.Entry() == entry; next = runtime.FuncForPC(last + 1) {
		last++
	}
	return code{first, last}
}

// goroutineID reads the number of this goroutine off its stack trace.
func goroutineID() uint64 {
	var buf [64]byte
	text := string(buf[:runtime.Stack(buf[:], false)])
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "goroutine "), " ")
	id, _ := strconv.ParseUint(text, 10, 64)
	return id
}
