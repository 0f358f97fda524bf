package realkafka

import (
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a started broker, in a process group of its own.
type process struct {
	pid  int
	done chan struct{} // closed when it has ended
	err  error         // how; to be read after done
}

// startProcess starts cmd with its output going to log, which is closed when
// the process has ended.
func startProcess(cmd *exec.Cmd, log io.WriteCloser) (*process, error) {
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = groupAttributes()
	p := &process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux ends the child when the *thread* that started it ends, so
		// that thread is kept for as long as the child lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		p.pid = cmd.Process.Pid
		started <- nil
		p.err = cmd.Wait()
		_ = log.Close()
		close(p.done)
	}()
	return p, <-started
}

// running reports whether the process has not ended. False for nil.
func (p *process) running() bool {
	if p == nil || p.pid == 0 {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal sends sig to the process and what it has started.
func (p *process) signal(sig syscall.Signal) error { return signalGroup(p.pid, sig) }

// end sends sig and waits until the process is gone.
func (p *process) end(sig syscall.Signal, timeout time.Duration) error {
	if err := p.signal(sig); err != nil {
		return err
	}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	select {
	case <-p.done:
		return nil
	case <-deadline.C:
		return fmt.Errorf("still there %v after %v", timeout, sig)
	}
}

// pause suspends the process and waits until it has come to rest: on a busy
// machine its threads may run on for a while after the signal.
func (p *process) pause(timeout time.Duration) error {
	if err := p.signal(sigStop); err != nil {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for {
		if rests, err := stopped(p.pid); rests || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-p.done:
			return fmt.Errorf("ended instead: %v", p.err) //nolint:errorlint // may be nil
		case <-deadline.C:
			return fmt.Errorf("still runs %v after %v", timeout, sigStop)
		}
	}
}
