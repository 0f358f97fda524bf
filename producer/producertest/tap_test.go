package producertest

import (
	"errors"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
)

// ends are the two ends of a connection of each kind.
func ends(t *testing.T, f func(t *testing.T, client net.Conn, server *tap)) {
	t.Run("memory", func(t *testing.T) {
		client, server := newMemConns("client", "broker")
		f(t, client, &tap{Conn: server})
	})
	t.Run("socket", func(t *testing.T) {
		if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
			t.Skip("sockets cannot be looked at on " + runtime.GOOS)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		f(t, client, &tap{Conn: server})
		client.Close()
		server.Close()
	})
}

type readResult struct {
	n   int
	err error
}

// reading reads in the background and gives the results.
func reading(s *tap) <-chan readResult {
	results := make(chan readResult, 100)
	go func() {
		for {
			n, err := s.Read(make([]byte, 10))
			results <- readResult{n, err}
			if err != nil {
				return
			}
		}
	}()
	return results
}

func TestLookAtOpenConnection(t *testing.T) {
	ends(t, func(t *testing.T, client net.Conn, server *tap) {
		looks := make(chan uint64, 10)
		server.quiet = func(look uint64, partial bool) { looks <- look }
		results := reading(server)
		want(t, "look", server.look(), 1)
		want(t, "taken", <-looks, 1)
		client.Write([]byte("abc"))
		want(t, "read on", (<-results).n, 3)
		server.look()
		want(t, "taken", <-looks, 2)
		client.Close()
		want(t, "end", (<-results).err, io.EOF)
	})
}

// What was sent but not read, or the end of the connection, comes before a look.
func TestLookComesLast(t *testing.T) {
	for _, reset := range []bool{false, true} {
		ends(t, func(t *testing.T, client net.Conn, server *tap) {
			server.quiet = func(uint64, bool) { t.Error("quiet") }
			client.Write([]byte("abc"))
			if reset {
				client.(interface{ SetLinger(int) error }).SetLinger(0)
			}
			client.Close()
			server.look()
			results := reading(server)
			got := <-results
			if got.err == nil {
				want(t, "read", got.n, 3)
				got = <-results
			}
			want(t, "a reset", errors.Is(got.err, syscall.ECONNRESET), reset)
		})
	}
}
