package producertest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// request is one request as it was read.
type request struct {
	key, version  int16
	correlationID int32
	size          int
	body          kmsg.Request    // nil if the version is not known here
	produce       *produceRequest // of a Produce request
}

var errRequest = errors.New("producertest: malformed request")

// readFrame reads one request without its size. The connection's tap is told
// when it is in the middle of one.
func readFrame(br *bufio.Reader, t *tap, limit int32) ([]byte, error) {
	if _, err := br.Peek(1); err != nil {
		return nil, err
	}
	t.partial = true
	var head [4]byte
	if _, err := io.ReadFull(br, head[:]); err != nil {
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(head[:]))
	if size < 10 || size > limit {
		return nil, fmt.Errorf("%w: %d bytes", errRequest, size)
	}
	frame := make([]byte, size)
	if _, err := io.ReadFull(br, frame); err != nil {
		return nil, err
	}
	t.partial = false
	return frame, nil
}

// parseRequest takes a frame apart. The request keeps the frame. A version that
// the cluster does not offer leaves the body nil.
func parseRequest(frame []byte, offered func(key int16) (lo, hi int16)) (*request, error) {
	r := &request{
		key:           int16(binary.BigEndian.Uint16(frame)),
		version:       int16(binary.BigEndian.Uint16(frame[2:])),
		correlationID: int32(binary.BigEndian.Uint32(frame[4:])),
		size:          len(frame),
	}
	lo, hi := offered(r.key)
	if r.version < lo || r.version > hi {
		return r, nil
	}
	client := int(int16(binary.BigEndian.Uint16(frame[8:]))) // -1: null
	body := frame[10:]
	if client > len(body) {
		return nil, errRequest
	}
	body = body[max(client, 0):]
	r.body = kmsg.RequestForKey(r.key)
	r.body.SetVersion(r.version)
	if r.body.IsFlexible() {
		tags := tagReader{src: body, ok: true}
		kmsg.SkipTags(&tags)
		if !tags.ok {
			return nil, errRequest
		}
		body = tags.src
	}
	if err := r.body.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%w: %s version %d: %w", errRequest, kmsg.NameForKey(r.key), r.version, err)
	}
	if p, ok := r.body.(*kmsg.ProduceRequest); ok {
		r.produce = newProduceRequest(p)
	}
	return r, nil
}

// tagReader reads the tagged fields of a request header.
type tagReader struct {
	src []byte
	ok  bool
}

// Ok is how kmsg.SkipTags learns to stop.
func (t *tagReader) Ok() bool { return t.ok }

func (t *tagReader) Uvarint() uint32 {
	v, n := binary.Uvarint(t.src)
	if n <= 0 || v > 1<<32-1 {
		t.src, t.ok = nil, false
		return 0
	}
	t.src = t.src[n:]
	return uint32(v)
}

func (t *tagReader) Span(n int) []byte {
	if n < 0 || n > len(t.src) {
		t.src, t.ok = nil, false
		return nil
	}
	s := t.src[:n]
	t.src = t.src[n:]
	return s
}

// appendFrame encodes a response with its size and header. The header of an
// ApiVersions response is never a flexible one (KIP-511).
func appendFrame(correlationID int32, m kmsg.Response) []byte {
	dst := binary.BigEndian.AppendUint32(make([]byte, 4, 256), uint32(correlationID))
	if m.IsFlexible() && m.Key() != keyApiVersions {
		dst = append(dst, 0)
	}
	dst = m.AppendTo(dst)
	binary.BigEndian.PutUint32(dst, uint32(len(dst)-4))
	return dst
}
