package producertest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemConnBuffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newMemConns("a", "b")
		data := bytes.Repeat([]byte("0123456789"), 100_000)
		wrote := make(chan error, 1)
		go func() {
			_, err := a.Write(data)
			wrote <- err
		}()
		synctest.Wait()
		select {
		case <-wrote:
			t.Error("a megabyte fits")
		default:
		}
		got := make([]byte, len(data))
		if _, err := io.ReadFull(b, got); err != nil || !bytes.Equal(got, data) {
			t.Errorf("read back wrong: %v", err)
		}
		want(t, "write", <-wrote, nil)
		want(t, "local", b.LocalAddr().String(), "b")
		want(t, "remote", b.RemoteAddr().String(), "a")
		want(t, "network", b.RemoteAddr().Network(), "memory")
	})
}

func TestMemConnEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end         func(c *memConn)
		read, write error // at the other end, after what was written
	}{
		"close":       {func(c *memConn) { c.Close() }, io.EOF, syscall.ECONNRESET},
		"reset":       {func(c *memConn) { c.SetLinger(0); c.Close() }, syscall.ECONNRESET, syscall.ECONNRESET},
		"half":        {func(c *memConn) { c.CloseWrite() }, io.EOF, nil},
		"cut":         {func(c *memConn) { c.cut() }, syscall.ECONNRESET, syscall.ECONNRESET},
		"close twice": {func(c *memConn) { c.Close(); c.Close() }, io.EOF, syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newMemConns("a", "b")
			a.Write([]byte("x"))
			b.Write([]byte("y"))
			test.end(a)
			got, err := io.ReadAll(b)
			if err == nil {
				err = io.EOF
			}
			want(t, "read", string(got), "x")
			want(t, "read error", err, test.read)
			_, err = b.Write([]byte("z"))
			want(t, "write error", err, test.write)
			if name == "cut" { // what the other end sent stays readable
				got, err := io.ReadAll(a)
				want(t, "drained", string(got), "y")
				want(t, "drained", err, error(syscall.ECONNRESET))
				_, err = a.Write([]byte("z"))
				want(t, "own write", errors.Is(err, net.ErrClosed), true)
			}
		})
	}
}

func TestMemConnCloseWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newMemConns("a", "b")
		errs := make(chan error, 3)
		go func() { _, err := a.Read(make([]byte, 1)); errs <- err }()
		go func() { _, err := a.Write(make([]byte, memBuffer+1)); errs <- err }()
		synctest.Wait()
		a.Close()
		for range 2 {
			want(t, "own", errors.Is(<-errs, net.ErrClosed), true)
		}
		b.Close()
	})
}

func TestMemConnDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newMemConns("a", "b")
		begun := time.Now()
		a.SetDeadline(begun.Add(time.Second))
		_, err := a.Read(make([]byte, 1))
		want(t, "read", errors.Is(err, os.ErrDeadlineExceeded), true)
		want(t, "after", time.Since(begun), time.Second)
		n, err := a.Write([]byte("x"))
		want(t, "write", errors.Is(err, os.ErrDeadlineExceeded) && n == 0, true)

		a.SetReadDeadline(time.Now().Add(time.Second))
		a.SetReadDeadline(time.Time{}) // the timer of before must not count
		a.SetWriteDeadline(time.Now().Add(5 * time.Second))
		n, err = a.Write(make([]byte, memBuffer+1))
		want(t, "full", errors.Is(err, os.ErrDeadlineExceeded) && n == memBuffer, true)
		want(t, "after", time.Since(begun), 6*time.Second)
		b.Write([]byte("y"))
		n, err = a.Read(make([]byte, 1))
		want(t, "no deadline", err == nil && n == 1, true)
	})
}
