package conn

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Whatever bytes come, in whatever pieces: frames or an error, no panic, and
// no memory for what did not come.
func FuzzReadFrame(f *testing.F) {
	f.Add(rawFrame(1, []byte("body")), false)
	f.Add(append(rawFrame(-1, nil), rawFrame(2, make([]byte, 300))...), true)
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), true)
	f.Add([]byte{0x15, 3, 3, 0, 2, 2, 0x28}, false)
	f.Add([]byte{0x3f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1}, false)
	f.Fuzz(func(t *testing.T, stream []byte, slowly bool) {
		var r io.Reader = bytes.NewReader(stream)
		if slowly {
			r = iotest.OneByteReader(r)
		}
		var err error
		read := 0
		got := allocated(func() {
			frames := frames(r)
			var buf []byte
			for err == nil {
				if _, buf, err = frames.next(buf, upTo(math.MaxInt32-correlationBytes)); err == nil {
					read += 8 + len(buf)
				}
			}
		})
		if read > len(stream) || err == io.EOF && read != len(stream) {
			t.Errorf("%d bytes of %d in frames, then %v", read, len(stream), err)
		}
		if got > uint64(4*len(stream)+512<<10) {
			t.Errorf("%d bytes allocated for %d", got, len(stream))
		}
	})
}

// Any body for any response in any version: decoded or refused, no panic, and
// memory in proportion.
func FuzzDecode(f *testing.F) {
	for i, key := range decodedKeys {
		for version := int16(0); version <= response(key, 0).MaxVersion(); version++ {
			f.Add(uint8(i), uint8(version), frame(1, response(key, version))[8:])
		}
	}
	f.Add(uint8(3), uint8(3), append([]byte{0, 0, 1, 0, 0, 0, 0}, tagFlood(2000)...))
	f.Add(uint8(0), uint8(13), append(uvarint(1<<31), 0, 0))
	f.Fuzz(func(t *testing.T, which, version uint8, body []byte) {
		resp := kmsg.ResponseForKey(decodedKeys[int(which)%len(decodedKeys)])
		resp.SetVersion(int16(version) % (resp.MaxVersion() + 1))
		var err error
		got := allocated(func() { err = Decode(resp, body, testLimit) })
		if err != nil && !errors.Is(err, ErrProtocol) {
			t.Error(err)
		}
		if got > uint64(3*len(body)+testLimit/4+256<<10) {
			t.Errorf("%d bytes allocated for %d", got, len(body))
		}
	})
}
