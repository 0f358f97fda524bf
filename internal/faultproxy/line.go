package faultproxy

import (
	"sync"
	"time"
)

// lineBytes bounds what is under way in one direction of a connection.
const lineBytes = 32 << 20

// line is a first-in first-out queue of pieces of a stream, each with the time
// at which it is to arrive: the cable between two pumps.
type line struct {
	mu     sync.Mutex
	change sync.Cond
	pieces []piece
	bytes  int
	ended  bool // no put follows
	failed bool // because the source broke off
	cut    bool // nothing is taken any more
}

type piece struct {
	data []byte
	due  time.Time
}

func newLine() *line {
	l := &line{}
	l.change.L = &l.mu
	return l
}

// put appends a piece, whose bytes then belong to the line. It waits while the
// line is full and returns false if it was cut.
func (l *line) put(data []byte, due time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.bytes >= lineBytes && !l.cut {
		l.change.Wait()
	}
	if l.cut {
		return false
	}
	l.pieces = append(l.pieces, piece{data, due})
	l.bytes += len(data)
	l.change.Broadcast()
	return true
}

// end says that nothing follows: the stream ended in order, or it broke off.
func (l *line) end(brokeOff bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended, l.failed = true, brokeOff
	l.change.Broadcast()
}

// broken reports whether the stream broke off.
func (l *line) broken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// reset loses what is under way and lets put and take return at once.
func (l *line) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.pieces = true, nil
	l.change.Broadcast()
}

// take returns the oldest piece, not caring whether it is due; ok is false when
// the line has ended and is empty, or was cut.
func (l *line) take() (p piece, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.pieces) == 0 && !l.ended && !l.cut {
		l.change.Wait()
	}
	if len(l.pieces) == 0 {
		return piece{}, false
	}
	p = l.pieces[0]
	l.pieces[0] = piece{}
	l.pieces = l.pieces[1:]
	l.bytes -= len(p.data)
	l.change.Broadcast()
	return p, true
}

// drain takes everything until the line ends.
func (l *line) drain() {
	for ok := true; ok; {
		_, ok = l.take()
	}
}
