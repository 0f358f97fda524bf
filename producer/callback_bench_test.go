package producer

import (
	"sync/atomic"
	"testing"
)

// deep calls f at the bottom of so many frames.
//
//go:noinline
func deep(n int, f func()) {
	if n > 0 {
		deep(n-1, f)
		return
	}
	f()
}

// BenchmarkInCallback is what Flush, Close and the others pay to find out that they
// are not called from a callback, while callbacks run and while none does.
func BenchmarkInCallback(b *testing.B) {
	for _, bc := range []struct {
		name   string
		inside bool
	}{{"none", false}, {"some", true}} {
		b.Run("callbacks="+bc.name, func(b *testing.B) {
			var d deliverer
			d.inside.Store(bc.inside)
			d.goroutine.Store(1 << 40)
			b.ReportAllocs()
			deep(30, func() {
				for b.Loop() {
					if d.inCallback() {
						b.Fatal("in a callback")
					}
				}
			})
		})
	}
	b.Run("stack trace", func(b *testing.B) {
		var d atomic.Uint64
		b.ReportAllocs()
		deep(30, func() {
			for b.Loop() {
				d.Store(goroutineID())
			}
		})
	})
}
