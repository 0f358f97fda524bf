//go:build unix

package realkafka

import (
	"os"
	"syscall"
)

const supported = true

const (
	sigStop = syscall.SIGSTOP
	sigCont = syscall.SIGCONT
)

func signalGroup(pid int, sig syscall.Signal) error { return syscall.Kill(-pid, sig) }

// lockFile waits until it alone holds the lock of that name; the kernel gives
// the lock back if the process dies. Call unlock to give it back.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
