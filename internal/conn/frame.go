package conn

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	correlationBytes = 4
	readBufferBytes  = 16 << 10
	firstGrowth      = 64 << 10
)

// ReadFrame reads the next response and returns its correlation id and the
// rest of it, header tags included, which Decode takes. The body is in buf if
// it fits and else in a new buffer; it is the caller's, so the usual call is
//
//	id, buf, err = c.ReadFrame(buf, limit)
//
// limit is called when the size is known, and says how large the response that is
// due may be; nothing more is read of a larger one. See ProduceLimit and Limit.
//
// The reader goroutine calls it. After an error the stream is out of step:
// every further call returns the same error. io.EOF in the chain is a clean
// end between two responses; io.ErrUnexpectedEOF one in the middle. Both leave
// what was asked unanswered.
func (c *Conn) ReadFrame(buf []byte, limit func() int) (correlationID int32, body []byte, err error) {
	correlationID, body, err = c.in.next(buf, limit)
	if err != nil {
		return 0, nil, c.fail("read", err)
	}
	return correlationID, body, nil
}

type frameReader struct {
	r    *bufio.Reader
	head [4]byte
	err  error // sticky
}

func (f *frameReader) reset(t *traffic, r io.Reader) {
	f.r = bufio.NewReaderSize(reader{t, r}, readBufferBytes)
	f.err = nil
}

func (f *frameReader) next(buf []byte, limit func() int) (int32, []byte, error) {
	if f.err != nil {
		return 0, nil, f.err
	}
	id, body, err := f.read(buf, limit)
	f.err = err
	return id, body, err
}

func (f *frameReader) read(buf []byte, limit func() int) (int32, []byte, error) {
	if _, err := io.ReadFull(f.r, f.head[:]); err != nil {
		return 0, nil, err
	}
	size := int32(binary.BigEndian.Uint32(f.head[:]))
	if most := limit() + correlationBytes; size < correlationBytes || int64(size) > int64(most) {
		return 0, nil, sizeError(f.head, size, most)
	}
	if _, err := io.ReadFull(f.r, f.head[:]); err != nil {
		return 0, nil, midFrame(err)
	}
	id := int32(binary.BigEndian.Uint32(f.head[:]))
	body, err := f.readBody(buf[:0], int(size)-correlationBytes)
	return id, body, err
}

// readBody reads n bytes. The buffer grows with what has arrived: a peer that
// claims much and sends little gets little (K32).
func (f *frameReader) readBody(buf []byte, n int) ([]byte, error) {
	for len(buf) < n {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(n, max(2*len(buf), firstGrowth)))
			copy(grown, buf)
			buf = grown
		}
		have := len(buf)
		buf = buf[:min(n, cap(buf))]
		if _, err := io.ReadFull(f.r, buf[have:]); err != nil {
			return nil, midFrame(err)
		}
	}
	return buf, nil
}

// midFrame tells an end in the middle of a frame from one between two (K23).
func midFrame(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// sizeError says what is wrong with the first four bytes of a frame, and what
// they look like if a peer speaks something else (K32, KAFKA-4090).
func sizeError(head [4]byte, size int32, limit int) error {
	switch {
	case (head[0] == 0x15 || head[0] == 0x16) && head[1] == 3 && head[2] <= 4:
		return protocolErrorf("it looks like TLS: the port wants TLS, and this client speaks plaintext")
	case string(head[:]) == "HTTP":
		return protocolErrorf("it looks like HTTP: this port is not a Kafka broker's")
	case size < correlationBytes:
		return protocolErrorf("a size of %d bytes is not possible", size)
	}
	return fmt.Errorf("%w: %w: a size of %d bytes is over the limit of %d", ErrProtocol, ErrTooLarge, size, limit)
}
