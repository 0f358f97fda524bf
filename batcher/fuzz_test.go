package batcher_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/sluice-kafka/sluice/batcher"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// script reads records out of the bytes of a fuzzer.
type script []byte

func (s *script) next(n int) []byte {
	n = min(n, len(*s))
	p := (*s)[:n]
	*s = (*s)[n:]
	return p
}

func (s *script) byte() byte {
	if p := s.next(1); len(p) == 1 {
		return p[0]
	}
	return 0
}

// bytes returns null, nothing, or up to 64 KiB.
func (s *script) bytes() []byte {
	switch n := int(s.byte()); n {
	case 255:
		return nil
	case 254:
		return bytes.Repeat(s.next(1), 1<<(s.byte()%17))
	default:
		return bytes.Clone(s.next(n))
	}
}

func (s *script) timestamp() int64 {
	var p [8]byte
	copy(p[:], s.next(1+int(s.byte()%8)))
	return int64(binary.LittleEndian.Uint64(p[:]))
}

func (s *script) record() batcher.Record {
	r := batcher.Record{Timestamp: s.timestamp(), Key: s.bytes(), Value: s.bytes()}
	for range s.byte() % 8 {
		r.Headers = append(r.Headers, batcher.Header{Key: string(s.bytes()), Value: s.bytes()})
	}
	return r
}

// FuzzBatch: any records make a batch that other code reads back unchanged,
// whole, compressed, and in halves.
func FuzzBatch(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x07\x00\x01\x02\x03\x04\x05\x06\x07\xff\xff\x00"))
	f.Add(bytes.Repeat([]byte("\x01\x05\x03key\x05value\x02\x01h\xff\x01g\x00"), 40))
	f.Add(bytes.Repeat([]byte("\x07\xff\xff\xff\xff\xff\xff\xff\x7f\xfea\x10\xfeb\x0f\x01\x00\x00"), 5))
	f.Fuzz(func(t *testing.T, in []byte) {
		s := script(in)
		records := []batcher.Record{s.record()}
		size := batcher.Size(&records[0])
		for len(s) > 0 && size < 1<<20 {
			records = append(records, s.record())
			size += batcher.Size(&records[len(records)-1])
		}
		plain, packed := fill(records), fill(records)
		checkRecords(t, finish(plain, nil), records)
		checkRecords(t, finish(packed, stdGzip{}), records)
		if packed.Bytes() > plain.Bytes() {
			t.Fatalf("compressed from %d to %d bytes", plain.Bytes(), packed.Bytes())
		}
		checkWithKgo(t, packed.Encoded(), records)

		var left, right batcher.Batch[int]
		packed.SplitAt((packed.Records()+1)/2, &left, &right)
		checkRecords(t, finish(&left, stdGzip{}), records[:left.Records()])
		if right.Records() > 0 {
			checkRecords(t, finish(&right, nil), records[left.Records():])
		}
	})
}

// checkWithKgo reads a batch as a consumer does.
func checkWithKgo(t *testing.T, encoded []byte, want []batcher.Record) {
	t.Helper()
	part, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{},
		&kmsg.FetchResponseTopicPartition{RecordBatches: encoded}, kgo.DefaultDecompressor(), nil)
	if part.Err != nil || len(part.Records) != len(want) {
		t.Fatalf("kgo: %d records of %d, error %v", len(part.Records), len(want), part.Err)
	}
	for i, got := range part.Records {
		w := want[i]
		headersEqual := slices.EqualFunc(got.Headers, w.Headers, func(a kgo.RecordHeader, b batcher.Header) bool {
			return a.Key == b.Key && bytes.Equal(a.Value, b.Value) && (a.Value == nil) == (b.Value == nil)
		})
		if !headersEqual || !bytes.Equal(got.Key, w.Key) || !bytes.Equal(got.Value, w.Value) ||
			(got.Key == nil) != (w.Key == nil) || (got.Value == nil) != (w.Value == nil) || got.Offset != int64(i) {
			t.Fatalf("kgo: record %d is %+v, want %+v", i, got, w)
		}
	}
}
