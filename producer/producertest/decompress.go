package producertest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// decompressLimit bounds what one batch may become.
const decompressLimit = 128 << 20

// decompress undoes the codec of a batch, which is the low bits of its
// attributes.
func decompress(codec int16, b []byte) ([]byte, error) {
	switch codec {
	case 0:
		return b, nil
	case 1:
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return readLimited(r)
	case 2:
		return unsnappy(b)
	case 3:
		return readLimited(lz4.NewReader(bytes.NewReader(b)))
	case 4:
		r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return readLimited(r)
	}
	return nil, fmt.Errorf("producertest: codec %d", codec)
}

var errTooLong = errors.New("producertest: batch decompresses to too much")

func readLimited(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, decompressLimit+1))
	if err == nil && len(b) > decompressLimit {
		err = errTooLong
	}
	return b, err
}

// xerial is how Java's snappy streams begin: a magic and two versions, then
// blocks, each after its length.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

// unsnappy takes both forms that clients write: a stream of blocks, or one.
func unsnappy(b []byte) ([]byte, error) {
	const head = 16
	if !bytes.HasPrefix(b, xerial) || len(b) < head {
		return unsnappyBlock(nil, b)
	}
	var all []byte
	for b = b[head:]; len(b) > 0; {
		if len(b) < 4 || uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)-4) {
			return nil, snappy.ErrCorrupt
		}
		n := int(binary.BigEndian.Uint32(b))
		var err error
		if all, err = unsnappyBlock(all, b[4:4+n]); err != nil {
			return nil, err
		}
		b = b[4+n:]
	}
	return all, nil
}

func unsnappyBlock(dst, b []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(b)
	if err != nil {
		return nil, err
	}
	if n > decompressLimit-len(dst) {
		return nil, errTooLong
	}
	block, err := snappy.Decode(nil, b)
	return append(dst, block...), err
}
