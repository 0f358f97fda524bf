package faultproxy

import (
	"bytes"
	"context"
	"net"
)

// DialBlind connects to a broker that seems not to know DescribeProducers, so
// that a producer must find out by replay how far the broker got.
func DialBlind(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &blindConn{TCPConn: conn.(*net.TCPConn)}, nil
}

// blindConn hides the API in the first response, which says what there is.
type blindConn struct {
	*net.TCPConn
	read int
}

// The entry of DescribeProducers: key 61, versions 0 to 0, no tags; and one
// with a key that nobody knows.
var (
	describeProducers = []byte{0, 61, 0, 0, 0, 0, 0}
	unknownAPI        = []byte{120, 61, 0, 0, 0, 0, 0}
)

func (c *blindConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	const handshake = 4 << 10
	if c.read < handshake {
		if i := bytes.Index(p[:n], describeProducers); i >= 0 {
			copy(p[i:], unknownAPI)
			c.read = handshake
		}
		c.read += n
	}
	return n, err
}
