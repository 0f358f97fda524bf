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
)

// child is the pipeline as another process.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer // its end tells the child to stop
	stderr bytes.Buffer
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
		"-state", s.state, "-every", s.every.String(), "-expiration", s.expiration.String(), "-attached", fmt.Sprintf("-v=%t", s.verbose))}
	c.cmd.Stderr = &c.stderr
	if s.verbose {
		c.cmd.Stderr = io.MultiWriter(&c.stderr, os.Stderr)
	}
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
	if bytes.Contains(c.stderr.Bytes(), []byte("pipeline: ")) {
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
	return fmt.Errorf("%w: %v: %s", errEnded, c.exit, bytes.TrimSpace(c.stderr.Bytes()))
}
