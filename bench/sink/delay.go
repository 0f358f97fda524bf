package sink

import (
	"bufio"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// parcel is bytes on the line.
type parcel struct {
	data []byte
	due  time.Time
}

// lineDepth bounds how many requests or responses are on the line; lineBytes
// bounds their memory, above what a gigabyte a second puts on 100 ms.
const (
	lineDepth = 1 << 14
	lineBytes = 256 << 20
)

// serveDelayed takes a request off the line half a round trip after its last
// byte came, works on it, and puts the response on the line for the other half.
func (s *session) serveDelayed(r *bufio.Reader, w io.WriteCloser) {
	half := s.b.cfg.RTT / 2
	requests, responses := make(chan parcel, lineDepth), make(chan parcel, lineDepth)
	var frames framePool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(requests)
		for {
			frame, err := readFrame(r, frames.get())
			if err != nil {
				return
			}
			frames.hold(len(frame))
			requests <- parcel{frame, time.Now().Add(half)}
		}
	})
	wg.Go(func() {
		writeDelayed(w, responses)
		_ = w.Close()         // ends the reading side, too
		for range responses { // so that nobody waits for a writer that is gone
		}
	})
	s.work(requests, responses, half, &frames)
	_ = w.Close()
	close(responses)
	for p := range requests {
		frames.put(p.data)
	}
	wg.Wait()
}

// work answers requests as they are due, until one cannot be answered.
func (s *session) work(requests <-chan parcel, responses chan<- parcel, half time.Duration, frames *framePool) {
	served := service{Config: s.b.cfg}
	for p := range requests {
		sleepUntil(p.due)
		out, produced, err := s.respond(nil, p.data)
		frames.put(p.data)
		if err != nil {
			return
		}
		due := time.Now()
		if produced {
			if due = served.end(due); s.b.cfg.Serial {
				sleepUntil(due)
			}
		}
		responses <- parcel{out, due.Add(half)}
	}
}

// service says when work on requests of a connection ends.
type service struct {
	Config
	tick time.Time // the latest one
	late time.Duration
}

func (s *service) end(came time.Time) time.Time {
	if s.Tick == 0 {
		return came.Add(s.Service + upTo(s.Jitter))
	}
	if tick := came.Truncate(s.Tick).Add(s.Tick); tick != s.tick {
		s.tick, s.late = tick, upTo(s.Jitter)
	}
	return s.tick.Add(s.Service + s.late)
}

func upTo(d time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(d) + 1)) }

// writeDelayed writes responses when they are due, those that are due together
// in one go.
func writeDelayed(w io.Writer, responses <-chan parcel) {
	var out []byte
	for p := range responses {
		sleepUntil(p.due)
		out = append(out[:0], p.data...)
		now := time.Now()
	more:
		for {
			select {
			case next, ok := <-responses:
				if !ok {
					break more
				}
				if next.due.After(now) {
					if _, err := w.Write(out); err != nil {
						return
					}
					sleepUntil(next.due)
					out, now = out[:0], time.Now()
				}
				out = append(out, next.data...)
			default:
				break more
			}
		}
		if _, err := w.Write(out); err != nil {
			return
		}
	}
}

// framePool lends memory for requests on the line and stops the reader when too
// much of it is out.
type framePool struct {
	mu   sync.Mutex
	back sync.Cond
	free [][]byte
	out  int
}

// get waits for the line to have room.
func (p *framePool) get() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.back.L == nil {
		p.back.L = &p.mu
	}
	for p.out > lineBytes {
		p.back.Wait()
	}
	n := len(p.free)
	if n == 0 {
		return nil
	}
	b := p.free[n-1]
	p.free = p.free[:n-1]
	return b
}

func (p *framePool) hold(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out += n
}

func (p *framePool) put(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out -= len(b)
	p.free = append(p.free, b)
	if p.back.L != nil {
		p.back.Signal()
	}
}
