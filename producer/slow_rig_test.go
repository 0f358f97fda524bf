package producer_test

import (
	"context"
	"net"
	"sync"
	"time"
)

// slowLine is a line of so many bytes a second each way, 0 for any. It takes a write a
// piece at a time, as a socket does whose buffer is full.
type slowLine struct {
	net.Conn
	up, down float64

	closed chan struct{}
	once   sync.Once
}

// slowly dials over slow lines.
func slowly(dial func(context.Context, string, string) (net.Conn, error), up, down float64) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &slowLine{Conn: c, up: up, down: down, closed: make(chan struct{})}, nil
	}
}

const slowPiece = 1000

func (s *slowLine) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		piece := b[:min(len(b), slowPiece)]
		s.pass(len(piece), s.up)
		wrote, err := s.Conn.Write(piece)
		n += wrote
		if err != nil {
			return n, err
		}
		b = b[wrote:]
	}
	return n, nil
}

func (s *slowLine) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.pass(n, s.down)
	return n, err
}

// pass takes the time of n bytes, unless the line is closed.
func (s *slowLine) pass(n int, rate float64) {
	if rate == 0 || n == 0 {
		return
	}
	select {
	case <-time.After(time.Duration(float64(n) / rate * float64(time.Second))):
	case <-s.closed:
	}
}

func (s *slowLine) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Conn.Close()
}
