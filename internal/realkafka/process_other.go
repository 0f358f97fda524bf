//go:build !unix

package realkafka

import (
	"errors"
	"syscall"
)

// Brokers are paused and ended by Unix signals; elsewhere the package builds
// and says that it cannot.
const supported = false

const (
	sigStop = syscall.Signal(0)
	sigCont = syscall.Signal(0)
)

func groupAttributes() *syscall.SysProcAttr { return nil }

func signalGroup(int, syscall.Signal) error { return errors.ErrUnsupported }

func stopped(int) (bool, error) { return false, errors.ErrUnsupported }

func lockFile(string) (func(), error) { return nil, errors.ErrUnsupported }
