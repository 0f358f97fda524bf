package realkafka

import "syscall"

// groupAttributes gives a broker a process group of its own, so that it can be
// ended with all it started and is not reached by what a terminal sends to the
// test. The kernel ends it when the test dies in a way that runs no cleanup.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
