package bufpool

import (
	"sync"
	"testing"
)

func TestGetHasRoom(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 511, 512, 513, 1024, 1025, 16 << 10, 16<<10 + 1, Largest - 1, Largest, Largest + 1} {
		for range 3 { // new ones and recycled ones
			buf := Get(n)
			if len(buf) != 0 || cap(buf) < n {
				t.Fatalf("Get(%d): %d bytes with room for %d", n, len(buf), cap(buf))
			}
			if n <= Largest && cap(buf) > max(4*n, 1024) {
				t.Errorf("Get(%d) has room for %d", n, cap(buf))
			}
			Put(buf)
		}
	}
}

// TestClasses: a buffer is never more than twice as large as asked for.
func TestClasses(t *testing.T) {
	for n, want := range map[int]int{
		-1: 0, 0: 0, 512: 0, 513: 1, 1024: 1, 1025: 2, 16 << 10: 5,
		Largest: len(classes) - 1, Largest + 1: len(classes),
	} {
		if got := classFor(n); got != want {
			t.Errorf("%d bytes are of class %d, want %d", n, got, want)
		}
	}
}

// TestPutKeepsRoom: a buffer of any size comes back only to those whom it is
// large enough for.
func TestPutKeepsRoom(t *testing.T) {
	for _, size := range []int{512, 600, 1000, 1023, 1025, 3000, 70000} {
		for range 50 {
			Put(make([]byte, size/2, size))
		}
		for n := 256; n <= 2*size; n = n*5/4 + 1 {
			var got [][]byte
			for range 20 {
				buf := Get(n)
				if len(buf) != 0 || cap(buf) < n {
					t.Fatalf("after Put of %d: Get(%d) has %d bytes and room for %d", size, n, len(buf), cap(buf))
				}
				got = append(got, buf)
			}
			for _, buf := range got {
				Put(buf)
			}
		}
	}
}

func TestPutRecycles(t *testing.T) {
	kept := 0
	for range 100 { // the race detector makes a sync.Pool forget now and then
		buf := append(Get(4096), 1)
		Put(buf)
		if again := Get(4096); &again[:1][0] == &buf[0] {
			kept++
		}
	}
	if kept == 0 {
		t.Error("no buffer was used again")
	}
}

// TestPutRefuses: what is too small to be worth it or too large to be kept is
// not taken, and nil does no harm.
func TestPutRefuses(t *testing.T) {
	Put(nil)
	for _, size := range []int{0, 1, 511, Largest + 1} {
		Put(make([]byte, size))
	}
	for range 100 {
		if buf := Get(512); cap(buf) < 512 || cap(buf) > Largest {
			t.Fatalf("Get(512) has room for %d", cap(buf))
		}
	}
	for range 3 {
		if buf := Get(Largest); cap(buf) > Largest {
			t.Fatalf("a buffer of %d bytes was kept", cap(buf))
		}
	}
}

func TestConcurrent(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				buf := Get(1 + (i*37)%3000)
				buf = buf[:cap(buf)]
				for j := range buf {
					buf[j] = byte(g)
				}
				for j := range buf {
					if buf[j] != byte(g) {
						t.Errorf("two owners of one buffer")
						return
					}
				}
				Put(buf)
			}
		})
	}
	wg.Wait()
}

// TestOverwrite: under the race detector, a buffer that was put back is
// overwritten, so that a use of it afterwards is a race.
func TestOverwrite(t *testing.T) {
	if !raceEnabled {
		t.Skip("only in a build with the race detector")
	}
	buf := append(Get(512), 1, 2, 3)
	Put(buf)
	if buf[0] == 1 && buf[1] == 2 && buf[2] == 3 {
		t.Error("the buffer was not overwritten")
	}
}

func TestNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates, and makes a sync.Pool forget")
	}
	if n := testing.AllocsPerRun(1000, func() { Put(Get(16 << 10)) }); n != 0 {
		t.Errorf("%v allocations a buffer", n)
	}
}

func BenchmarkGetPut(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Put(Get(16 << 10))
	}
}

func BenchmarkGetPutParallel(b *testing.B) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			Put(Get(16 << 10))
		}
	})
}
