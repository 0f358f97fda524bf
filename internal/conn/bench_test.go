package conn

import (
	"fmt"
	"net"
	"testing"
)

// sponge takes all and does nothing.
type sponge struct{ net.Conn }

func (sponge) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkWrite is a frame on its way out, without the system call: the head of
// the request and one batch, put together as under TLS.
func BenchmarkWrite(b *testing.B) {
	for _, size := range []int{2 << 10, 128 << 10} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			c := newConn("sponge", sponge{}, &Options{})
			vec := [][]byte{make([]byte, 100), make([]byte, size)}
			b.SetBytes(int64(100 + size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Write(vec); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// stream repeats one response without end.
type stream struct {
	net.Conn
	frame []byte
	at    int
}

func (s *stream) Read(p []byte) (int, error) {
	n := copy(p, s.frame[s.at:])
	s.at = (s.at + n) % len(s.frame)
	return n, nil
}

// BenchmarkReadFrame is a response on its way in: those of Produce have about 50
// bytes a partition.
func BenchmarkReadFrame(b *testing.B) {
	for _, partitions := range []int{1, 64} {
		b.Run(fmt.Sprintf("partitions=%d", partitions), func(b *testing.B) {
			frame := rawFrame(1, make([]byte, 50*partitions))
			c := newConn("stream", &stream{frame: frame}, &Options{})
			var buf []byte
			limit := upTo(1 << 20)
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if _, buf, err = c.ReadFrame(buf, limit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
