package compress

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// sink collects what an encoder writes.
type sink struct{ buf []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.buf = append(s.buf, p...)
	return len(p), nil
}

// streamEncoder is an encoder that writes to a sink of its own.
type streamEncoder struct {
	out sink
	enc interface {
		io.WriteCloser
		Reset(io.Writer)
	}
}

// append compresses src behind dst.
func (e *streamEncoder) append(dst, src []byte) ([]byte, error) {
	e.out.buf = dst
	e.enc.Reset(&e.out)
	_, err := e.enc.Write(src)
	if closeErr := e.enc.Close(); err == nil {
		err = closeErr
	}
	dst, e.out.buf = e.out.buf, nil // the pool keeps no buffer of a batch
	return dst, err
}

var gzipEncoders = sync.Pool{New: func() any {
	return &streamEncoder{enc: gzip.NewWriter(nil)}
}}

func appendGzip(dst, src []byte) ([]byte, error) {
	e := gzipEncoders.Get().(*streamEncoder)
	defer gzipEncoders.Put(e)
	return e.append(dst, src)
}

// The lz4 frames are as the Java producer's: independent blocks of 64 KiB, the
// only kind that every consumer reads. The checksum of the batch covers the
// content, so that no second one is made.
var lz4Encoders = sync.Pool{New: func() any {
	w := lz4.NewWriter(nil)
	err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1))
	mustAccept("lz4", err)
	return &streamEncoder{enc: w}
}}

func appendLz4(dst, src []byte) ([]byte, error) {
	e := lz4Encoders.Get().(*streamEncoder)
	defer lz4Encoders.Put(e)
	return e.append(dst, src)
}

// appendSnappy makes one raw block, which Java brokers read as well as the
// framing of their own library.
func appendSnappy(dst, src []byte) []byte {
	start := len(dst)
	dst = slices.Grow(dst, s2.MaxEncodedLen(len(src)))
	block := s2.EncodeSnappy(dst[start:cap(dst)], src)
	return dst[:start+len(block)]
}

// The window of a zstd frame is one of its blocks, 128 KiB. On JSON and text, a
// batch of 1 MiB comes out 2 % larger to 2 % smaller than with a window of 1 MiB,
// and the encoder takes 3 MB, not 4 (18 MB with the default of the library). The
// encoder makes no goroutine and need not be closed.
var zstdEncoders = sync.Pool{New: func() any {
	enc, err := zstd.NewWriter(nil,
		zstd.WithWindowSize(128<<10),
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false))
	mustAccept("zstd", err)
	return enc
}}

func appendZstd(dst, src []byte) []byte {
	enc := zstdEncoders.Get().(*zstd.Encoder)
	defer zstdEncoders.Put(enc)
	return enc.EncodeAll(src, dst)
}

// mustAccept panics when a library does not know the options that are fixed
// here, which is a fault of this package.
func mustAccept(codec string, err error) {
	if err != nil {
		panic(fmt.Sprintf("compress: options of %s: %v", codec, err))
	}
}
