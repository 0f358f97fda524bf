package conn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

func rawFrame(id int32, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(id))
	return append(b, body...)
}

func frames(r io.Reader) *frameReader {
	f := new(frameReader)
	f.reset(new(traffic), r)
	return f
}

// upTo lets a frame have a body of n bytes.
func upTo(n int) func() int { return func() int { return n } }

func TestReadFrames(t *testing.T) {
	var stream []byte
	var bodies [][]byte
	for i, n := range []int{0, 1, 5, 63, 70_000, 0, 200_000, 3, 16 << 10, 16<<10 - 8} {
		body := bytes.Repeat([]byte{byte(i + 1)}, n)
		bodies = append(bodies, body)
		stream = append(stream, rawFrame(int32(i)-2, body)...)
	}
	for name, r := range map[string]io.Reader{
		"whole":        bytes.NewReader(stream),
		"byte by byte": iotest.OneByteReader(bytes.NewReader(stream)),
		"halves":       iotest.HalfReader(bytes.NewReader(stream)),
		"late errors":  iotest.DataErrReader(bytes.NewReader(stream)),
	} {
		f := frames(r)
		var buf []byte
		for i, want := range bodies {
			var id int32
			var err error
			if id, buf, err = f.next(buf, upTo(1<<20)); err != nil {
				t.Fatalf("%s: frame %d: %v", name, i, err)
			}
			if id != int32(i)-2 || !bytes.Equal(buf, want) {
				t.Fatalf("%s: frame %d: id %d, %d bytes", name, i, id, len(buf))
			}
		}
		if _, _, err := f.next(buf, upTo(1<<20)); err != io.EOF {
			t.Errorf("%s: at the end: %v", name, err)
		}
	}
}

// K23: an end inside of a frame is not a clean one, wherever it comes.
func TestReadFrameCutAtEveryByte(t *testing.T) {
	whole := rawFrame(7, []byte("some response"))
	for cut := range whole {
		f := frames(bytes.NewReader(whole[:cut]))
		_, body, err := f.next(nil, upTo(100))
		want := io.ErrUnexpectedEOF
		if cut == 0 {
			want = io.EOF
		}
		if err != want || body != nil {
			t.Errorf("cut after %d bytes: %q, %v", cut, body, err)
		}
	}
	reset := errors.New("connection reset")
	for cut := range whole {
		f := frames(io.MultiReader(bytes.NewReader(whole[:cut]), iotest.ErrReader(reset)))
		if _, _, err := f.next(nil, upTo(100)); err != reset {
			t.Errorf("reset after %d bytes: %v", cut, err)
		}
	}
}

// K32: what does not speak Kafka is named, and costs no memory.
func TestForeignBytes(t *testing.T) {
	for _, test := range []struct{ name, sent, want string }{
		{"tls alert", "\x15\x03\x03\x00\x02\x02\x28", "TLS"},
		{"tls handshake", "\x16\x03\x01\x02\x00", "TLS"},
		{"http", "HTTP/1.1 400 Bad Request", "HTTP"},
		{"largest", "\x7f\xff\xff\xff....", "2147483647"},
		{"minus one", "\xff\xff\xff\xff....", "-1"},
		{"smallest", "\x80\x00\x00\x00....", "-2147483648"},
		{"zero", "\x00\x00\x00\x00....", "0 bytes"},
		{"no room for an id", "\x00\x00\x00\x03...", "3 bytes"},
		{"just over the limit", "\x00\x00\x04\x01....", "limit of 1024"},
		{"ssh", "SSH-2.0-OpenSSH", "limit of 1024"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := frames(strings.NewReader(test.sent))
			_, _, err := f.next(nil, upTo(1020))
			if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, _, again := f.next(nil, upTo(1020)); again != err {
				t.Errorf("then %v", again)
			}
		})
	}
}

// A size is a claim; memory is given for bytes that came.
func TestMemoryFollowsData(t *testing.T) {
	const claim, sent = 1 << 30, 100
	stream := binary.BigEndian.AppendUint32(nil, claim)
	stream = append(stream, make([]byte, 4+sent)...)
	f := frames(bytes.NewReader(stream))
	got := allocated(func() {
		if _, _, err := f.next(nil, upTo(claim)); err != io.ErrUnexpectedEOF {
			t.Error(err)
		}
	})
	if got > 1<<20 {
		t.Errorf("%d bytes allocated for %d received", got, sent)
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestReadFrameReusesItsBuffer(t *testing.T) {
	stream := bytes.Repeat(rawFrame(1, make([]byte, 300)), 2000)
	f := frames(bytes.NewReader(stream))
	_, buf, err := f.next(nil, upTo(1024))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1000, func() {
		if _, buf, err = f.next(buf, upTo(1024)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

// The data path of a whole connection: pipelined, in order, until the broker
// goes, and then the same error for ever.
func TestReadFrameOnAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) {
			p.hello()
			for _, id := range []int32{5, 6, 7} {
				p.send(rawFrame(id, []byte{byte(id)}))
			}
			p.send(rawFrame(8, []byte("cut"))[:9])
		}).connect()
		defer c.Close()
		var buf []byte
		for _, want := range []int32{5, 6, 7} {
			id, body, err := c.ReadFrame(buf, upTo(1<<20))
			if err != nil || id != want || len(body) != 1 || body[0] != byte(want) {
				t.Fatalf("%d, %q, %v", id, body, err)
			}
			buf = body
		}
		for range 2 {
			_, _, err := c.ReadFrame(buf, upTo(1<<20))
			var e *Error
			if !errors.Is(err, io.ErrUnexpectedEOF) || !errors.As(err, &e) || e.Op != "read" {
				t.Error(err)
			}
		}
	})
}

// A response that is larger than it may be is refused by the size that it claims:
// nothing more is read, or waited for.
func TestReadFrameRefusesOversizedClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBroker(t, func(p *peer) {
			p.hello()
			p.send(rawFrame(1, make([]byte, 1000)))
			p.send([]byte{0, 0, 3, 0xed}) // one more, and nothing comes
			p.gone()
		}).connect()
		defer c.Abandon()
		if _, body, err := c.ReadFrame(nil, upTo(1000)); err != nil || len(body) != 1000 {
			t.Fatal(err)
		}
		if _, _, err := c.ReadFrame(nil, upTo(1000)); !errors.Is(err, ErrProtocol) {
			t.Error(err)
		}
	})
}

// Abandon is what a timer calls while the reader and the writer are stuck.
func TestAbandonUnblocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		c := newBroker(t, func(p *peer) { p.hello(); <-stop }).connect()
		failed := make(chan error, 2)
		go func() { _, _, err := c.ReadFrame(nil, upTo(1<<20)); failed <- err }()
		go func() { _, err := c.Write([][]byte{make([]byte, 1<<20)}); failed <- err }()
		synctest.Wait()
		for range 3 {
			c.Abandon()
		}
		for range 2 {
			if err := <-failed; !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		}
		c.Close()
		close(stop)
	})
}
