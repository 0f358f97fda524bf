package sink

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	maxFrame   = 100 << 20 // as a broker's socket.request.max.bytes
	readBuffer = 128 << 10
)

var errFrame = errors.New("sink: not a request")

// session is what one connection needs to answer.
type session struct {
	b       *Broker
	node    int32
	produce kmsg.ProduceRequest
	results kmsg.ProduceResponse
}

// serve answers a connection until it ends or says something wrong.
func serve(b *Broker, node int32, c net.Conn) {
	s := &session{b: b, node: node}
	r := bufio.NewReaderSize(c, readBuffer)
	if b.cfg.RTT+b.cfg.Service+b.cfg.Jitter+b.cfg.Tick > 0 {
		s.serveDelayed(r, c)
		return
	}
	s.serveAtOnce(r, c)
}

// serveAtOnce writes when no further request has arrived yet.
func (s *session) serveAtOnce(r *bufio.Reader, w io.Writer) {
	var frame, out []byte
	for {
		var err error
		if frame, err = readFrame(r, frame); err != nil {
			return
		}
		if out, _, err = s.respond(out, frame); err != nil {
			return
		}
		if wholeFrame(r) {
			continue
		}
		if _, err := w.Write(out); err != nil {
			return
		}
		out = out[:0]
	}
}

// wholeFrame reports whether a request can be read without waiting.
func wholeFrame(r *bufio.Reader) bool {
	if r.Buffered() < 4 {
		return false
	}
	size, err := r.Peek(4)
	return err == nil && int64(r.Buffered()) >= 4+int64(binary.BigEndian.Uint32(size))
}

// readFrame reads a request without its length, into the given memory if it fits.
func readFrame(r *bufio.Reader, into []byte) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(size[:]))
	if n < 8 || n > maxFrame {
		return nil, errFrame
	}
	if int64(cap(into)) < n {
		into = make([]byte, n)
	}
	into = into[:n]
	_, err := io.ReadFull(r, into)
	return into, err
}

// respond appends the response to a request, with its length. produced says
// that it was one of Produce.
func (s *session) respond(out, frame []byte) (_ []byte, produced bool, err error) {
	key := int16(binary.BigEndian.Uint16(frame))
	version := int16(binary.BigEndian.Uint16(frame[2:]))
	correlation := binary.BigEndian.Uint32(frame[4:])
	if !serves(key, version) {
		if key != int16(kmsg.ApiVersions) {
			return out, false, fmt.Errorf("%w: key %d version %d", errFrame, key, version)
		}
		// KIP-511: answered in version 0, so that the client can choose again.
		q := kmsg.NewPtrApiVersionsRequest()
		resp := s.b.apiVersions(q).(*kmsg.ApiVersionsResponse)
		resp.ErrorCode = 35
		return appendResponse(out, resp, correlation, false), false, nil
	}
	q := s.request(key)
	q.SetVersion(version)
	body, err := skipHeader(frame, q.IsFlexible())
	if err != nil {
		return out, false, err
	}
	if p, ok := q.(*kmsg.ProduceRequest); ok {
		if err := p.UnsafeReadFrom(body); err != nil {
			return out, false, err
		}
		resp := s.append(p)
		if p.Acks == 0 {
			return out, true, nil
		}
		return appendResponse(out, resp, correlation, resp.IsFlexible()), true, nil
	}
	if err := q.ReadFrom(body); err != nil {
		return out, false, err
	}
	resp := s.b.answer(q)
	// ApiVersions has a plain header in every version.
	return appendResponse(out, resp, correlation, resp.IsFlexible() && key != int16(kmsg.ApiVersions)), false, nil
}

func (s *session) request(key int16) kmsg.Request {
	if key == int16(kmsg.Produce) {
		s.produce = kmsg.ProduceRequest{Topics: s.produce.Topics[:0]}
		return &s.produce
	}
	return kmsg.RequestForKey(key)
}

// skipHeader returns what follows the header of a request.
func skipHeader(frame []byte, flexible bool) ([]byte, error) {
	b := kbin.Reader{Src: frame}
	b.Int16()
	b.Int16()
	b.Int32()
	b.UnsafeNullableString()
	if flexible {
		kmsg.SkipTags(&b)
	}
	return b.Src, b.Complete()
}

func appendResponse(out []byte, resp kmsg.Response, correlation uint32, tags bool) []byte {
	start := len(out)
	out = append(out, 0, 0, 0, 0)
	out = binary.BigEndian.AppendUint32(out, correlation)
	if tags {
		out = append(out, 0)
	}
	out = resp.AppendTo(out)
	binary.BigEndian.PutUint32(out[start:], uint32(len(out)-start-4))
	return out
}

// append appends every batch of a request.
func (s *session) append(p *kmsg.ProduceRequest) *kmsg.ProduceResponse {
	s.b.log.requests.Add(1)
	resp := &s.results
	*resp = kmsg.ProduceResponse{Version: p.Version, Topics: resp.Topics[:0]}
	for i := range p.Topics {
		qt := &p.Topics[i]
		t := kmsg.NewProduceResponseTopic()
		t.Topic = qt.Topic
		t.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(qt.Partitions))
		for j := range qt.Partitions {
			q, r := &qt.Partitions[j], &t.Partitions[j]
			r.Default()
			r.Partition, r.LogAppendTime, r.LogStartOffset = q.Partition, -1, 0
			if s.b.leader(q.Partition) != s.node {
				r.BaseOffset, r.ErrorCode = -1, codeNotLeader
				continue
			}
			r.BaseOffset, r.ErrorCode = s.b.log.append(q.Partition, q.Records)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
