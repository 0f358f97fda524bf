package realkafka

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// callTimeout bounds connecting and every read and write: nothing a broker is
// asked here takes long, unless it is down or paused.
const callTimeout = 30 * time.Second

// maxFrame bounds what is read in one piece.
const maxFrame = 64 << 20

// client is one plain connection to a broker, which does no more than write
// requests and read responses. Not for concurrent use.
type client struct {
	conn    *net.TCPConn
	r       *bufio.Reader
	written int32 // correlation id of the next request
	read    int32 // and of the next response
}

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("realkafka"))

func dial(addr string) (*client, error) {
	conn, err := net.DialTimeout("tcp", addr, callTimeout)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn.(*net.TCPConn), r: bufio.NewReaderSize(conn, 64<<10)}, nil
}

func (c *client) close() { _ = c.conn.Close() }

// write sends requests back to back, without waiting for answers.
func (c *client) write(requests ...kmsg.Request) error {
	var out []byte
	for _, r := range requests {
		out = append(out, formatter.AppendRequest(nil, r, c.written)...)
		c.written++
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(callTimeout)); err != nil {
		return err
	}
	_, err := c.conn.Write(out)
	return err
}

// answer reads the response to the oldest unanswered request, which was r.
func (c *client) answer(r kmsg.Request) (kmsg.Response, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(callTimeout)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(c.r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 4 || n > maxFrame {
		return nil, fmt.Errorf("response of %d bytes", n)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(c.r, frame); err != nil {
		return nil, err
	}
	if id := int32(binary.BigEndian.Uint32(frame)); id != c.read {
		return nil, fmt.Errorf("response to request %d, expected %d", id, c.read)
	}
	c.read++
	return decode(r, frame[4:])
}

// decode reads a response behind the correlation id. A flexible response has
// tagged fields in its header too, except for ApiVersions, which must be
// readable before the versions are known (KIP-511).
func decode(r kmsg.Request, body []byte) (kmsg.Response, error) {
	resp := r.ResponseKind()
	resp.SetVersion(r.GetVersion())
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		var err error
		if body, err = skipTags(body); err != nil {
			return nil, err
		}
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kmsg.NameForKey(resp.Key()), err)
	}
	return resp, nil
}

// skipTags returns what follows the tagged fields at the start of b.
func skipTags(b []byte) ([]byte, error) {
	count, b, err := uvarint(b)
	for ; err == nil && count > 0; count-- {
		b, err = skipTag(b)
	}
	return b, err
}

func skipTag(b []byte) ([]byte, error) {
	_, b, err := uvarint(b) // its number
	if err != nil {
		return nil, err
	}
	size, b, err := uvarint(b)
	if err != nil || size > uint64(len(b)) {
		return nil, io.ErrUnexpectedEOF
	}
	return b[size:], nil
}

func uvarint(b []byte) (v uint64, rest []byte, err error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return v, b[n:], nil
}

// call sends one request and reads its response.
func (c *client) call(r kmsg.Request) (kmsg.Response, error) {
	if err := c.write(r); err != nil {
		return nil, err
	}
	return c.answer(r)
}

// ask sends one request over a connection of its own.
func ask[R kmsg.Response](addr string, r kmsg.Request) (R, error) {
	var none R
	c, err := dial(addr)
	if err != nil {
		return none, err
	}
	defer c.close()
	resp, err := c.call(r)
	if err != nil {
		return none, err
	}
	return resp.(R), nil
}
