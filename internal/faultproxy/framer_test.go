package faultproxy

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// message returns a message with the given body, as Kafka frames it.
func message(body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// forwarded runs pieces of a stream through a framer that drops the messages
// whose number is in drop, counted from 0, and returns what is left.
func forwarded(pieces [][]byte, drop map[int]bool) (out []byte, decided int) {
	var f framer
	for _, p := range pieces {
		for len(p) > 0 {
			run, dropped := f.next(p, func() bool { decided++; return drop[decided-1] })
			if !dropped {
				out = append(out, run...)
			}
			p = p[len(run):]
		}
	}
	return out, decided
}

func TestFramerDropsWholeMessagesWhereverTheStreamIsCut(t *testing.T) {
	bodies := []string{"one", "", "three and more", "", "", "six"}
	for mask := range 1 << len(bodies) {
		var stream, want []byte
		drop := make(map[int]bool)
		for i, body := range bodies {
			stream = append(stream, message(body)...)
			if drop[i] = mask&(1<<i) != 0; !drop[i] {
				want = append(want, message(body)...)
			}
		}
		for size := 1; size <= len(stream); size++ {
			var pieces [][]byte
			for rest := stream; len(rest) > 0; {
				n := min(size, len(rest))
				pieces, rest = append(pieces, rest[:n]), rest[n:]
			}
			got, decided := forwarded(pieces, drop)
			if !bytes.Equal(got, want) || decided != len(bodies) {
				t.Fatalf("drop %06b in pieces of %d: got %q, want %q; decided %d times", mask, size, got, want, decided)
			}
		}
	}
}

// A neighbour with the same fate needs no write of its own.
func TestFramerKeepsMessagesOfOneFateTogether(t *testing.T) {
	stream := append(message("a"), message("b")...)
	var f framer
	run, drop := f.next(stream, func() bool { return false })
	if drop || !bytes.Equal(run, stream) {
		t.Fatalf("got %q, drop %v; want all of it", run, drop)
	}
}

func FuzzFramer(f *testing.F) {
	f.Add(append(message("x"), message("yy")...), uint8(3))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1, 2}, uint8(1))
	f.Add([]byte{0, 0}, uint8(0))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		var fr framer
		for rest := stream; len(rest) > 0; {
			p := rest[:min(int(size)+1, len(rest))]
			run, _ := fr.next(p, func() bool { return len(p)%2 == 0 })
			if len(run) == 0 || !bytes.HasPrefix(p, run) {
				t.Fatalf("run of %d bytes in a piece of %d", len(run), len(p))
			}
			rest = rest[len(run):]
		}
	})
}
