//go:build unix && !linux

package realkafka

import "syscall"

// groupAttributes gives a broker a process group of its own, so that it can be
// ended with all it started. Nothing here ends it when the test is killed.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// stopped is not known here: it will have, soon.
func stopped(int) (bool, error) { return true, nil }
