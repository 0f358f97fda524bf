package realkafka

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// groupAttributes gives a broker a process group of its own, so that it can be
// ended with all it started and is not reached by what a terminal sends to the
// test. The kernel ends it when the test dies in a way that runs no cleanup.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// stopped reports whether all threads of a process have stopped.
func stopped(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false, err
	}
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // this thread has ended
		}
		if err != nil {
			return false, err
		}
		// The state follows the name, which is in parentheses and may hold some.
		after := bytes.LastIndexByte(stat, ')') + len(") ")
		if after >= len(stat) || stat[after] != 'T' {
			return false, nil
		}
	}
	return len(threads) > 0, nil
}
