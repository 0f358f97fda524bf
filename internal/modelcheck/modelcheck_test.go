package modelcheck

import "testing"

// counter counts to 5; from trap there is no way on.
func counter(trap, bad int) System[int] {
	return System[int]{
		Key: func(dst []byte, s *int) []byte { return append(dst, byte(*s)) },
		Steps: func(s *int, yield func(string, int, string)) {
			broken := ""
			if *s+1 == bad {
				broken = "bad number"
			}
			if *s != trap && *s < 5 {
				yield("one more", *s+1, broken)
				if *s+2 == trap {
					yield("jump", trap, "")
				}
			}
		},
		Done: func(s *int) bool { return *s == 5 },
	}
}

func TestExplore(t *testing.T) {
	for _, tc := range []struct {
		name      string
		trap, bad int
		found     string
		trace     int
	}{
		{"nothing to find", -1, -1, "", 0},
		{"broken property, shortest trace", -1, 3, "bad number", 3},
		{"trapped: the end is out of reach", 3, -1, Stuck, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := Explore(counter(tc.trap, tc.bad))
			if r.Found() != tc.found || (tc.trace > 0 && len(r.Trace) != tc.trace) {
				t.Fatalf("got %v", r)
			}
		})
	}
}

func TestLimitIsNotComplete(t *testing.T) {
	sys := counter(-1, -1)
	sys.Limit = 2
	if r := Explore(sys); r.Complete || r.States != 2 {
		t.Fatalf("got %+v", r)
	}
}
