package realkafka

import (
	"bytes"
	"fmt"
	"os"
	"sync"
)

// tailBytes is how much of a log an error shows.
const tailBytes = 4 << 10

// brokerLog is the log file of a node. Each start of the node has a brokerLog
// of its own, which appends to the same file and watches for the line that says
// that the broker serves.
type brokerLog struct {
	mu     sync.Mutex
	file   *os.File
	tail   []byte // the last of what was written, more than tailBytes if there is more
	mark   []byte
	marked chan struct{} // closed when mark was seen
	seen   bool
}

func openBrokerLog(path, mark string) (*brokerLog, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("realkafka: %w", err)
	}
	return &brokerLog{file: f, mark: []byte(mark), marked: make(chan struct{})}, nil
}

// Write appends to the file. The mark is found though it comes in two pieces.
func (l *brokerLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := max(len(l.tail)-len(l.mark), 0)
	l.tail = append(l.tail, p...)
	if !l.seen && bytes.Contains(l.tail[before:], l.mark) {
		l.seen = true
		close(l.marked)
	}
	if len(l.tail) > 4*tailBytes {
		l.tail = append(l.tail[:0], l.tail[len(l.tail)-2*tailBytes:]...)
	}
	return l.file.Write(p)
}

// Close closes the file; the tail stays readable.
func (l *brokerLog) Close() error { return l.file.Close() }

// Marked is closed once the mark has been written.
func (l *brokerLog) Marked() <-chan struct{} { return l.marked }

// Tail returns the last lines, whole ones, of this start.
func (l *brokerLog) Tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	tail := l.tail
	if len(tail) > tailBytes {
		tail = tail[len(tail)-tailBytes:]
		if i := bytes.IndexByte(tail, '\n'); i >= 0 {
			tail = tail[i+1:]
		}
	}
	return string(tail)
}
