package faultproxy

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// produce returns a Produce request with the given text behind its key, fetch
// one of another kind.
func produce(text string) string { return "\x00\x00" + text }
func fetch(text string) string   { return "\x00\x01" + text }

func TestScannerFindsProduceWhereverTheStreamIsCut(t *testing.T) {
	bodies := []string{fetch("x"), produce("one"), "", "\x00", produce(""), produce("two"), fetch("\x00\x00\x00\x02\x00\x00")}
	var stream []byte
	for _, body := range bodies {
		stream = append(stream, message(body)...)
	}
	for size := 1; size <= len(stream); size++ {
		var s scanner
		for p := range slices.Chunk(stream, size) {
			s.follow(p, nil)
		}
		if n := s.produce.Load(); n != 3 {
			t.Errorf("in pieces of %d: found %d Produce requests, want 3", size, n)
		}
	}
}

func TestScannerTurnsOneBitInTheMiddle(t *testing.T) {
	stream := slices.Concat(message(fetch("0123456789")), message(produce("0123456789")), message(produce("abcdefghij")))
	want := slices.Concat(message(fetch("0123456789")), message(produce("0123556789")), message(produce("abcdefghij")))
	for size := 1; size <= len(stream); size++ {
		var s scanner
		orders, got := 1, slices.Clone(stream)
		for p := range slices.Chunk(got, size) {
			s.follow(p, func() bool { orders--; return orders >= 0 })
		}
		if !bytes.Equal(got, want) {
			t.Errorf("in pieces of %d: got %q, want %q", size, got, want)
		}
	}
}

func FuzzScanner(f *testing.F) {
	f.Add(append(message(produce("x")), message(fetch("yy"))...), uint8(3))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 1}, uint8(1))
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0}, uint8(2))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		var want int64
		for rest := stream; len(rest) >= sizeBytes+keyBytes; {
			n := int64(binary.BigEndian.Uint32(rest))
			if n >= keyBytes && rest[4] == 0 && rest[5] == 0 {
				want++
			}
			rest = rest[min(int64(len(rest)), sizeBytes+n):]
		}
		var s scanner
		turned, got := int64(0), slices.Clone(stream)
		for p := range slices.Chunk(got, int(size)+1) {
			s.follow(p, func() bool { turned++; return true })
		}
		if s.produce.Load() != want || turned > want {
			t.Fatalf("found %d Produce requests, want %d; damaged %d", s.produce.Load(), want, turned)
		}
	})
}
