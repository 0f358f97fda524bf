package conn

import (
	"io"
	"net"
)

const (
	// coalesceBytes is how much is put together for one write where a write costs
	// more than a copy: under TLS it makes a record, which holds 16 KiB at most.
	coalesceBytes = 16 << 10

	// stepBytes is the most that is written at once: whether a write that takes long
	// goes on is seen between two of them.
	stepBytes = 64 << 10
)

// Write sends the pieces of vec one after the other: one or more requests,
// complete with their sizes. It returns how many bytes left this process; if
// that is 0, no broker can ever see anything of them. (Under TLS a piece of an
// unfinished record may have left; nobody can read it.)
//
// The writer goroutine calls it. It does not change vec and keeps nothing of
// it: once it has returned, vec and its pieces are the caller's to reuse. After
// an error the stream may end in half a request, so every further call returns
// the same error and writes nothing. The reader is left to collect the answers
// that are still to be had.
func (c *Conn) Write(vec [][]byte) (wrote int64, err error) {
	if wrote, err = c.out.write(vec); err != nil {
		return wrote, c.fail("write", err)
	}
	return wrote, nil
}

type frameWriter struct {
	w        io.Writer
	traffic  *traffic
	vectored bool        // one system call for many pieces
	pieces   [][]byte    // the backing array of rest, kept
	rest     net.Buffers // consumed by a write
	scratch  []byte
	err      error // sticky
}

// reset makes w the target. net.Buffers is one system call only on these two
// types; elsewhere it would be a write a piece.
func (f *frameWriter) reset(t *traffic, w io.Writer) {
	*f = frameWriter{w: w, traffic: t}
	switch w.(type) {
	case *net.TCPConn, *net.UnixConn:
		f.vectored = true
	}
}

func (f *frameWriter) write(vec [][]byte) (int64, error) {
	if f.err != nil {
		return 0, f.err
	}
	var n int64
	if f.vectored {
		n, f.err = f.writeVector(vec)
	} else {
		n, f.err = f.writeCoalesced(vec)
	}
	return n, f.err
}

func (f *frameWriter) writeVector(vec [][]byte) (wrote int64, err error) {
	f.pieces = f.pieces[:0]
	size := 0
	for _, piece := range vec {
		for size+len(piece) > stepBytes {
			f.pieces = append(f.pieces, piece[:stepBytes-size])
			piece = piece[stepBytes-size:]
			n, err := f.writePieces()
			if wrote, size = wrote+n, 0; err != nil {
				return wrote, err
			}
		}
		f.pieces = append(f.pieces, piece)
		size += len(piece)
	}
	n, err := f.writePieces()
	return wrote + n, err
}

func (f *frameWriter) writePieces() (int64, error) {
	f.rest = f.pieces
	n, err := f.rest.WriteTo(f.w)
	f.traffic.out(n)
	clear(f.pieces) // so that no batch is kept alive by this array
	f.pieces, f.rest = f.pieces[:0], nil
	return n, err
}

func (f *frameWriter) writeCoalesced(vec [][]byte) (wrote int64, err error) {
	for _, piece := range vec {
		if len(f.scratch)+len(piece) > coalesceBytes {
			n, err := f.flush()
			if wrote += n; err != nil {
				return wrote, err
			}
		}
		if len(piece) < coalesceBytes {
			f.scratch = append(f.scratch, piece...)
			continue
		}
		for len(piece) > 0 {
			n, err := f.writeOne(piece[:min(len(piece), stepBytes)])
			if wrote += n; err != nil {
				return wrote, err
			}
			piece = piece[n:]
		}
	}
	n, err := f.flush()
	return wrote + n, err
}

func (f *frameWriter) writeOne(b []byte) (int64, error) {
	n, err := f.w.Write(b)
	f.traffic.out(int64(n))
	return int64(n), err
}

func (f *frameWriter) flush() (int64, error) {
	if len(f.scratch) == 0 {
		return 0, nil
	}
	n, err := f.writeOne(f.scratch)
	f.scratch = f.scratch[:0]
	return n, err
}
