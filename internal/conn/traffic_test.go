package conn

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// The time of the latest byte is that of a piece, not that of the whole.
func TestLastWrittenIsWhenAPieceMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		client, server := net.Pipe()
		defer server.Close()
		c := newConn("pipe", client, &Options{})
		go c.Write([][]byte{make([]byte, 3*stepBytes)})
		for i := range time.Duration(3) {
			time.Sleep(time.Second)
			io.ReadFull(server, make([]byte, stepBytes))
			synctest.Wait()
			if at := c.LastWritten().Sub(began); at != (i+1)*time.Second {
				t.Errorf("step %d went out at %v", i, at)
			}
		}
		c.Abandon()
	})
}
