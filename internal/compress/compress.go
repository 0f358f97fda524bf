// Package compress holds the codecs of record batches: gzip, snappy, lz4 and
// zstd. It only compresses: a producer never reads what somebody compressed, so
// that no decompressor is linked into it.
package compress

import "fmt"

// Codec is a codec by its number in the attributes of a record batch. It is a
// batcher.Compressor; all its methods may be called concurrently. The zero
// value compresses nothing.
type Codec int16

// The codecs that brokers know. Zstd needs Produce version 7 (Kafka 2.1) or
// later, with an older one the broker refuses the batch (KIP-110).
const (
	None Codec = iota
	Gzip
	Snappy
	Lz4
	Zstd
)

// names are those of Kafka's property compression.type.
var names = [...]string{None: "none", Gzip: "gzip", Snappy: "snappy", Lz4: "lz4", Zstd: "zstd"}

// Parse returns the codec of the name, as Kafka's property compression.type has it:
// none, gzip, snappy, lz4 or zstd.
func Parse(name string) (Codec, error) {
	for c, known := range names {
		if name == known {
			return Codec(c), nil
		}
	}
	return None, fmt.Errorf("compress: no codec is named %q", name)
}

// String returns the name of the codec.
func (c Codec) String() string {
	if c < None || c > Zstd {
		return fmt.Sprintf("codec %d", int16(c))
	}
	return names[c]
}

// ID returns the number of the codec in the attributes of a record batch.
func (c Codec) ID() int16 { return int16(c) }

// Compress appends the compressed form of src to dst and returns the longer
// slice; None appends src as it is. It keeps neither of them. Unless the codec
// is unknown there is no error to be expected; with one, what was appended is
// of no use.
func (c Codec) Compress(dst, src []byte) ([]byte, error) {
	switch c {
	case None:
		return append(dst, src...), nil
	case Gzip:
		return appendGzip(dst, src)
	case Snappy:
		return appendSnappy(dst, src), nil
	case Lz4:
		return appendLz4(dst, src)
	case Zstd:
		return appendZstd(dst, src), nil
	default:
		return dst, fmt.Errorf("compress: %v is unknown", c)
	}
}
