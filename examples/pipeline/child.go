package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
)

// child is the pipeline as another process.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer // its end tells the child to stop
	stderr childLog
	exit   error
	ended  context.Context // when the process has
}

// newChild starts the pipeline. It is killed when ctx ends.
func (s *stage) newChild(ctx context.Context) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, self, "-brokers", s.list(), "-input", s.input, "-output", s.output,
		"-state", s.state, "-every", s.every.String(), "-expiration", s.expiration.String(), "-attached", "-v", fmt.Sprintf("-event-time=%t", s.eventTime))}
	c.stderr.count = &s.readings
	if s.verbose {
		c.stderr.copy = os.Stderr
	}
	c.cmd.Stderr = &c.stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	var end context.CancelCauseFunc
	c.ended, end = context.WithCancelCause(context.Background())
	go func() {
		s.listen(stdout)
		c.exit = c.cmd.Wait()
		end(errEnded)
	}()
	return c, nil
}

// listen reads what a child says of its checkpoints. A line that was cut off
// says nothing.
func (s *stage) listen(stdout io.Reader) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var partition int32
		var offset int64
		if _, err := fmt.Sscanf(lines.Text(), "saved %d %d.", &partition, &offset); err == nil {
			s.progress.note(partition, offset)
		}
	}
}

// kill ends the process as a crash does. It is an error if it had ended already.
func (c *child) kill() error {
	select {
	case <-c.ended.Done():
		return c.fault()
	default:
	}
	c.cmd.Process.Kill()
	<-c.ended.Done()
	if bytes.Contains(c.stderr.said.Bytes(), []byte("pipeline: ")) {
		return c.fault() // it was quicker
	}
	return nil
}

// pause stops the process where it stands. It is an error if it had ended already.
func (c *child) pause() error {
	err := pause(c.cmd.Process)
	if errors.Is(err, os.ErrProcessDone) {
		<-c.ended.Done()
		return c.fault()
	}
	return err
}

// stop lets the process end in good order.
func (c *child) stop() error {
	c.stdin.Close()
	<-c.ended.Done()
	if c.exit != nil {
		return c.fault()
	}
	return nil
}

func (c *child) fault() error {
	return fmt.Errorf("%w: %v: %s", errEnded, c.exit, bytes.TrimSpace(c.stderr.said.Bytes()))
}

// childLog takes the standard error of a child: what its producer logs, and why it
// ended.
type childLog struct {
	copy  *os.File // nil: to nowhere
	count *readings
	rest  []byte       // the beginning of a line
	said  bytes.Buffer // without what the producer logged
}

// readings are how often lanes read a log to find out how far they had come, as a
// broker did not know them.
type readings struct {
	read      atomic.Int64
	forgotten atomic.Int64 // there was more than the checkpoint said: the broker had forgotten it
}

func (l *childLog) Write(b []byte) (int, error) {
	if l.copy != nil {
		l.copy.Write(b)
	}
	l.rest = append(l.rest, b...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		l.take(line)
		l.rest = append(l.rest[:0], rest...)
	}
}

// take counts the readings, and keeps what the producer did not log.
func (l *childLog) take(line []byte) {
	switch {
	case !bytes.HasPrefix(line, []byte("time=")):
		l.said.Write(line)
		l.said.WriteByte('\n')
	case bytes.Contains(line, []byte(`msg="read the log"`)) && bytes.Contains(line, []byte(" for=chain ")):
		l.count.read.Add(1)
		if bytes.Contains(line, []byte(" seen=true ")) {
			l.count.forgotten.Add(1)
		}
	}
}
