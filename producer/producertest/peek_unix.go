//go:build linux || darwin

package producertest

import (
	"net"
	"syscall"
)

// peek reports whether the connection is open and nothing waits to be read. An
// error is the connection's: the system reports it only once.
func peek(c net.Conn) (empty bool, lost error) {
	if m, ok := c.(*memConn); ok {
		return m.in.quiet(), nil
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return false, nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false, nil
	}
	raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch err {
		case nil, syscall.EINTR:
		case syscall.EAGAIN:
			empty = true
		default:
			lost = err
		}
	})
	return empty, lost
}
