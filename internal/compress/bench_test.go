package compress_test

import (
	"fmt"
	"testing"

	"github.com/sluice-kafka/sluice/batcher"
)

// BenchmarkBatch is a batch of 128 KiB of records with JSON in them; size is
// that of a value. Bytes are uncompressed, ratio is what is left of them.
func BenchmarkBatch(b *testing.B) {
	for _, c := range codecs {
		for _, size := range []int{100, 1 << 10} {
			b.Run(fmt.Sprintf("codec=%v/size=%d", c, size), func(b *testing.B) {
				src := encodedBatch(size)
				dst := make([]byte, 0, 2*len(src))
				var out []byte
				b.SetBytes(int64(len(src)))
				b.ReportAllocs()
				for b.Loop() {
					var err error
					if out, err = c.Compress(dst, src); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(out))/float64(len(src)), "ratio")
			})
		}
	}
}

// encodedBatch is the part of a batch of 128 KiB that codecs see.
func encodedBatch(size int) []byte {
	const limit, header = 128 << 10, 61
	values := orders(2 * limit)
	var batch batcher.Batch[struct{}]
	for at := 0; at+size <= len(values); at += size {
		r := batcher.Record{Value: values[at : at+size], Timestamp: 1_790_000_000_000 + int64(at)}
		if !batch.Fits(&r, limit) {
			break
		}
		batch.Append(&r, struct{}{})
	}
	batch.Seal(nil, nil)
	return batch.Encoded()[header:]
}
