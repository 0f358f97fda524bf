package compress_test

import (
	"bytes"
	stdgzip "compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/sluice-kafka/sluice/batcher"
	"github.com/sluice-kafka/sluice/internal/compress"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var codecs = []compress.Codec{compress.None, compress.Gzip, compress.Snappy, compress.Lz4, compress.Zstd}

// Codec is what batcher wants.
var _ batcher.Compressor = compress.None

func decompress(c compress.Codec, src []byte) ([]byte, error) {
	switch c {
	case compress.Gzip:
		r, err := stdgzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case compress.Snappy:
		return s2.Decode(nil, src)
	case compress.Lz4:
		return io.ReadAll(lz4.NewReader(bytes.NewReader(src)))
	case compress.Zstd:
		r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return r.DecodeAll(src, nil)
	default:
		return src, nil
	}
}

// samples are inputs around the block sizes of the codecs, that compress well
// and not at all.
func samples() map[string][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	all := map[string][]byte{"empty": {}, "one": {7}, "text-300K": orders(300 << 10)}
	for _, n := range []int{100, 64<<10 - 1, 64 << 10, 64<<10 + 1, 128<<10 + 1} {
		noise := make([]byte, n)
		for i := range noise {
			noise[i] = byte(rng.Uint32())
		}
		all[fmt.Sprintf("noise-%d", n)] = noise
		all[fmt.Sprintf("text-%d", n)] = orders(n)
		all[fmt.Sprintf("zeros-%d", n)] = make([]byte, n)
	}
	return all
}

// orders returns n bytes of JSON as services exchange it.
func orders(n int) []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, `{"id":%d,"user":"user-%d","amount":%d.%02d,"status":"%s"}`, rng.IntN(1e9), rng.IntN(5000),
			rng.IntN(1000), rng.IntN(100), []string{"open", "paid", "shipped"}[rng.IntN(3)])
	}
	return b.Bytes()[:n]
}

// TestRoundTrip (K69): what a codec makes of anything is read back as it was,
// behind what was in the destination before.
func TestRoundTrip(t *testing.T) {
	all := samples()
	for _, c := range codecs {
		for name, src := range all {
			for _, dst := range [][]byte{nil, make([]byte, 6, 2<<20)} {
				before, input := bytes.Clone(dst), bytes.Clone(src)
				out, err := c.Compress(dst, src)
				if err != nil {
					t.Fatalf("%v %s: %v", c, name, err)
				}
				if !bytes.Equal(out[:len(before)], before) || !bytes.Equal(src, input) {
					t.Fatalf("%v %s: destination or source changed", c, name)
				}
				back, err := decompress(c, out[len(before):])
				if err != nil || !bytes.Equal(back, src) {
					t.Fatalf("%v %s: read back %d bytes of %d, error %v", c, name, len(back), len(src), err)
				}
			}
		}
	}
}

// TestLz4Frame: version 1, independent blocks of 64 KiB, no checksum of blocks
// or content, no content size; the last byte is the checksum of these flags.
func TestLz4Frame(t *testing.T) {
	out, err := compress.Lz4.Compress(nil, orders(200<<10))
	if want := []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82}; err != nil || !bytes.Equal(out[:7], want) {
		t.Errorf("frame starts %x, want %x", out[:7], want)
	}
}

// TestBatches: batches of each codec as a consumer of another code base reads
// them, checksum and attributes included.
func TestBatches(t *testing.T) {
	for _, c := range codecs {
		for _, n := range []int{1, 2, 1000, 5000} {
			encoded := sealed(c, n)
			part, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{},
				&kmsg.FetchResponseTopicPartition{RecordBatches: encoded}, kgo.DefaultDecompressor(), nil)
			if part.Err != nil || len(part.Records) != n {
				t.Fatalf("%v: %d records of %d, error %v", c, len(part.Records), n, part.Err)
			}
			for i, r := range part.Records {
				if want := value(i); !bytes.Equal(r.Value, want) || r.Timestamp.UnixMilli() != int64(i) {
					t.Fatalf("%v: record %d is %q", c, i, r.Value)
				}
			}
			if n >= 1000 && encoded[22] != byte(c) {
				t.Errorf("%v: attributes %d, not compressed", c, encoded[22])
			}
		}
	}
}

func value(i int) []byte { return fmt.Appendf(nil, "value number %d of many that are alike", i) }

// sealed returns a batch of n records.
func sealed(c compress.Codec, n int) []byte {
	var b batcher.Batch[struct{}]
	for i := range n {
		b.Append(&batcher.Record{Value: value(i), Timestamp: int64(i)}, struct{}{})
	}
	b.Seal(c, nil)
	b.Stamp(1, 0, 0)
	return b.Encoded()
}

func TestConcurrent(t *testing.T) {
	src := orders(100 << 10)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 10 {
				c, part := codecs[(g+i)%len(codecs)], src[:len(src)-g*1000]
				out, err := c.Compress(nil, part)
				if err != nil {
					t.Error(err)
					return
				}
				if back, err := decompress(c, out); err != nil || !bytes.Equal(back, part) {
					t.Errorf("%v: read back %d bytes of %d, error %v", c, len(back), len(part), err)
				}
			}
		})
	}
	wg.Wait()
}

func TestNames(t *testing.T) {
	for i, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		c, err := compress.Parse(name)
		if err != nil || c.ID() != int16(i) || c.String() != name {
			t.Errorf("%s: codec %d named %v, error %v", name, c.ID(), c, err)
		}
	}
	for _, name := range []string{"", "GZIP", "brotli"} {
		if c, err := compress.Parse(name); err == nil {
			t.Errorf("%q is %v", name, c)
		}
	}
	for _, c := range []compress.Codec{-1, 5} {
		if out, err := c.Compress([]byte("x"), []byte("y")); err == nil || string(out) != "x" {
			t.Errorf("%v: %q, error %v", c, out, err)
		}
	}
}

// FuzzRoundTrip: any bytes come back through every codec.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte{}, uint8(0))
	f.Add([]byte("abcabcabcabcabcabc"), uint8(0))
	f.Add(orders(5000), uint8(6))
	f.Fuzz(func(t *testing.T, src []byte, repeat uint8) {
		src = bytes.Repeat(src, 1+int(repeat%8))
		for _, c := range codecs {
			out, err := c.Compress(nil, src)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := decompress(c, out); err != nil || !bytes.Equal(back, src) {
				t.Fatalf("%v: read back %d bytes of %d, error %v", c, len(back), len(src), err)
			}
		}
	})
}

// BenchmarkCompress says also to which share of its size a batch shrinks.
func BenchmarkCompress(b *testing.B) {
	for _, c := range codecs[1:] {
		for _, n := range []int{16 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%v-%dKiB", c, n>>10), func(b *testing.B) {
				src, dst := orders(n), make([]byte, 0, 2*n)
				b.SetBytes(int64(n))
				b.ReportAllocs()
				var out []byte
				for b.Loop() {
					var err error
					if out, err = c.Compress(dst, src); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(out))/float64(n), "ratio")
			})
		}
	}
}
