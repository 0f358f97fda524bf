package batcher

import (
	"strconv"
	"testing"
)

// benchDelivery is of the size of what a producer keeps with a record.
type benchDelivery struct {
	done func(int64)
	tag  any
}

// BenchmarkAppend is one record on its way into a batch of 16 KiB (64 KiB for
// the larger ones): asked whether it fits, encoded, and the batch stamped when
// it is full.
func BenchmarkAppend(b *testing.B) {
	for _, bench := range []struct {
		name    string
		value   int
		headers int
		limit   int
	}{
		{"100B", 100, 0, 16 << 10},
		{"100B-2headers", 100, 2, 16 << 10},
		{"1KiB", 1 << 10, 0, 64 << 10},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := Record{Key: []byte("key-0123"), Value: make([]byte, bench.value), Timestamp: 1_790_000_000_000}
			for i := range bench.headers {
				r.Headers = append(r.Headers, Header{Key: "header-" + strconv.Itoa(i), Value: []byte("value")})
			}
			var batch Batch[benchDelivery]
			batch.Reset(make([]byte, 0, bench.limit))
			b.SetBytes(int64(bench.value))
			b.ReportAllocs()
			for b.Loop() {
				if !batch.Fits(&r, bench.limit) {
					batch.Seal(nil, nil)
					batch.Stamp(1, 0, 0)
					raw, _ := batch.Release()
					batch.Reset(raw)
				}
				batch.Append(&r, benchDelivery{})
				r.Timestamp++
			}
		})
	}
}

// BenchmarkStamp is the header and the checksum of a batch, which a new epoch
// costs again.
func BenchmarkStamp(b *testing.B) {
	for _, size := range []int{16 << 10, 1 << 20} {
		b.Run(strconv.Itoa(size>>10)+"KiB", func(b *testing.B) {
			r := Record{Value: make([]byte, 1000)}
			var batch Batch[struct{}]
			for batch.Fits(&r, size) {
				batch.Append(&r, struct{}{})
			}
			batch.Seal(nil, nil)
			b.SetBytes(int64(batch.Bytes()))
			b.ReportAllocs()
			for b.Loop() {
				batch.Stamp(1, 2, 3)
			}
		})
	}
}

// BenchmarkSplit is the halving of a batch of 1 MiB.
func BenchmarkSplit(b *testing.B) {
	r := Record{Value: make([]byte, 1000)}
	var whole, left, right Batch[struct{}]
	buffers := [3][]byte{make([]byte, 0, 1<<20), make([]byte, 0, 1<<20), make([]byte, 0, 1<<20)}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		whole.Reset(buffers[0])
		for whole.Fits(&r, 1<<20) {
			whole.Append(&r, struct{}{})
		}
		whole.Seal(nil, nil)
		left.Reset(buffers[1])
		right.Reset(buffers[2])
		b.StartTimer()
		whole.SplitAt((whole.Records()+1)/2, &left, &right)
	}
}
