package producer_test

import (
	"context"
	"net"
	"sync"
	"time"
)

// slowLines are slow ones: of so many bytes a second each way, 0 for any. Once they are
// stuck, no byte goes out behind the next so many.
type slowLines struct {
	mu       sync.Mutex
	up, down float64
	stuck    bool
	left     int       // bytes that still go out then
	given    time.Time // when one was given up that was stuck
}

// slowly dials over slow lines.
func slowly(dial dialer, up, down float64) dialer {
	return (&slowLines{up: up, down: down}).dial(dial)
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

func (s *slowLines) dial(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &slowLine{Conn: c, lines: s, closed: make(chan struct{})}, nil
	}
}

// set changes how fast they are.
func (s *slowLines) set(up, down float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.up, s.down = up, down
}

// stick lets no byte go out behind the next so many.
func (s *slowLines) stick(after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck, s.left = true, after
}

// givenUp is when the first line was closed since they are stuck.
func (s *slowLines) givenUp() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given
}

// slowLine takes a write a piece at a time, as a socket does whose buffer is full.
type slowLine struct {
	net.Conn
	lines  *slowLines
	closed chan struct{}
	once   sync.Once
}

const slowPiece = 1000

func (s *slowLine) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		piece := b[:min(len(b), slowPiece)]
		s.passUp(len(piece))
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
	s.lines.mu.Lock()
	rate := s.lines.down
	s.lines.mu.Unlock()
	if rate > 0 { // what comes in a tenth of a second
		b = b[:min(len(b), max(1, int(rate/10)))]
	}
	n, err := s.Conn.Read(b)
	s.pass(n, rate)
	return n, err
}

func (s *slowLine) passUp(n int) {
	s.lines.mu.Lock()
	stuck, rate := s.lines.stuck && s.lines.left < n, s.lines.up
	s.lines.left -= n
	s.lines.mu.Unlock()
	if stuck {
		<-s.closed
	}
	s.pass(n, rate)
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
	s.once.Do(func() {
		close(s.closed)
		s.lines.mu.Lock()
		defer s.lines.mu.Unlock()
		if s.lines.stuck && s.lines.given.IsZero() {
			s.lines.given = time.Now()
		}
	})
	return s.Conn.Close()
}
