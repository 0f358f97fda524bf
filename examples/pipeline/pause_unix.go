//go:build unix

package main

import (
	"os"
	"syscall"
)

const canPause = true

// pause stops a process where it stands, as a suspended machine does.
func pause(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// wake lets it go on as if nothing had been.
func wake(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
