package batcher_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sluice-kafka/sluice/batcher"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestEncodingAsKmsg compares whole batches with those of another encoder.
func TestEncodingAsKmsg(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		records := randomRecords(rng, 1+rng.IntN(300))
		b := fill(records)
		b.Seal(nil, nil)
		b.Stamp(77, 5, math.MaxInt32-1)
		got := b.Encoded()

		want := kmsg.RecordBatch{
			Length: int32(len(got)) - 12, PartitionLeaderEpoch: -1, Magic: 2,
			LastOffsetDelta: int32(len(records)) - 1, NumRecords: int32(len(records)),
			FirstTimestamp: records[0].Timestamp, MaxTimestamp: b.MaxTimestamp(),
			ProducerID: 77, ProducerEpoch: 5, FirstSequence: math.MaxInt32 - 1,
		}
		for i := range records {
			want.Records = appendKmsg(want.Records, &records[i], i, want.FirstTimestamp)
		}
		d, err := decode(got)
		if err != nil {
			t.Fatal(err)
		}
		want.CRC = d.CRC // checked by decode
		if !bytes.Equal(got, want.AppendTo(nil)) {
			t.Fatalf("%d records: encoded\n%x, want\n%x", len(records), got, want.AppendTo(nil))
		}
	}
}

func appendKmsg(dst []byte, r *batcher.Record, index int, base int64) []byte {
	k := kmsg.Record{TimestampDelta64: r.Timestamp - base, OffsetDelta: int32(index), Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		k.Headers = append(k.Headers, kmsg.Header{Key: h.Key, Value: h.Value})
	}
	k.Length = int32(len(k.AppendTo(nil)) - 1) // a length of 0 takes one byte
	return k.AppendTo(dst)
}

// TestSizesAreExact (K14): what Size and Fits say beforehand is what comes out.
func TestSizesAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		b := new(batcher.Batch[int])
		records := randomRecords(rng, 1+rng.IntN(200))
		for i := range records {
			r := &records[i]
			before := *b // for its size only
			b.Append(r, i)
			size := b.Bytes()
			if !before.Fits(r, size) || before.Fits(r, size-1) {
				t.Fatalf("record %d makes %d bytes: Fits(%d) = %v, Fits(%d) = %v", i, size, size, before.Fits(r, size), size-1, before.Fits(r, size-1))
			}
			if alone := fill(records[i : i+1]); batcher.Size(r) != alone.Bytes() {
				t.Fatalf("Size %d, alone it takes %d", batcher.Size(r), alone.Bytes())
			}
		}
		if encoded := finish(b, nil); len(encoded) != b.Bytes() {
			t.Fatalf("%d bytes encoded, Bytes says %d", len(encoded), b.Bytes())
		}
	}
}

// TestSizeAboveInt32: the same slice may stand in many headers, so that a record
// is larger than any batch can say (K74).
func TestSizeAboveInt32(t *testing.T) {
	r := batcher.Record{Value: []byte("v")}
	shared := make([]byte, 1<<24)
	for range 200 {
		r.Headers = append(r.Headers, batcher.Header{Key: "h", Value: shared})
	}
	if got := batcher.Size(&r); got != math.MaxInt32 {
		t.Errorf("Size %d, want %d", got, math.MaxInt32)
	}
	if b := new(batcher.Batch[int]); b.Fits(&r, math.MaxInt) {
		t.Error("a batch above 2 GiB was said to fit")
	}
}

// TestNullAndEmpty (K56): the lengths on the wire are -1 and 0.
func TestNullAndEmpty(t *testing.T) {
	records := []batcher.Record{
		{Key: nil, Value: nil},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte{}, Value: nil},
		{Key: nil, Value: []byte{}},
		{Headers: []batcher.Header{{Key: "null"}, {Key: "empty", Value: []byte{}}, {Key: ""}}},
	}
	checkRecords(t, finish(fill(records), nil), records)
}

// TestTimestamps (K51): milliseconds come back exactly, first record included,
// whatever the order and the distance.
func TestTimestamps(t *testing.T) {
	var records []batcher.Record
	for _, ms := range []int64{
		1_790_000_000_123, 1_790_000_000_122, 1_790_000_000_123, 1_790_000_086_400, 0, -1, 1 << 33,
		math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64,
	} {
		records = append(records, batcher.Record{Timestamp: ms})
	}
	for first := range records {
		in := append(records[first:len(records):len(records)], records[:first]...)
		b := fill(in)
		d := checkRecords(t, finish(b, nil), in)
		if d.FirstTimestamp != in[0].Timestamp || b.FirstTimestamp() != in[0].Timestamp {
			t.Errorf("base timestamp %d, FirstTimestamp %d, want %d", d.FirstTimestamp, b.FirstTimestamp(), in[0].Timestamp)
		}
		if d.MaxTimestamp != math.MaxInt64 || b.MaxTimestamp() != math.MaxInt64 {
			t.Errorf("max timestamp %d, MaxTimestamp %d", d.MaxTimestamp, b.MaxTimestamp())
		}
		if b.OldestTimestamp() != math.MinInt64 {
			t.Errorf("OldestTimestamp %d", b.OldestTimestamp())
		}
	}
	negative := []batcher.Record{{Timestamp: -5}, {Timestamp: -7}, {Timestamp: -6}}
	if b := fill(negative); b.MaxTimestamp() != -5 || b.OldestTimestamp() != -7 {
		t.Errorf("of -5 -7 -6: newest %d, oldest %d", b.MaxTimestamp(), b.OldestTimestamp())
	}
}

// TestAppendCopies (K16): the caller may overwrite its bytes at once.
func TestAppendCopies(t *testing.T) {
	key, value, header := []byte("key"), []byte("value"), []byte("header")
	r := batcher.Record{Key: key, Value: value, Headers: []batcher.Header{{Key: "h", Value: header}}}
	b := new(batcher.Batch[int])
	b.Append(&r, 0)
	for _, p := range [][]byte{key, value, header} {
		copy(p, "XXXXXX")
	}
	r.Headers[0] = batcher.Header{Key: "X"}
	checkRecords(t, finish(b, nil), []batcher.Record{{
		Key: []byte("key"), Value: []byte("value"), Headers: []batcher.Header{{Key: "h", Value: []byte("header")}},
	}})
}

// TestReuse: a batch that was used in every way starts as a new one.
func TestReuse(t *testing.T) {
	first := []batcher.Record{{Value: bytes.Repeat([]byte("v"), 500), Timestamp: 9}, {Timestamp: 1}}
	second := []batcher.Record{{Key: []byte("k"), Timestamp: 5}}
	b := fill(first)
	finish(b, stdGzip{})
	buf, packed := b.Release()
	if cap(buf) == 0 || cap(packed) == 0 {
		t.Fatal("Release returned no buffers")
	}
	if raw, packed := b.Release(); raw != nil || packed != nil {
		t.Fatal("Release gave a buffer to two owners")
	}
	if b.Records() != 2 || b.MaxTimestamp() != 9 || len(b.Deliveries()) != 2 {
		t.Fatal("records or deliveries were lost with the buffers")
	}
	b.Reset(buf)
	if b.Records() != 0 || b.Bytes() != batcher.Size(&batcher.Record{})-7 || b.MaxTimestamp() != 0 {
		t.Fatalf("after Reset: %d records, %d bytes", b.Records(), b.Bytes())
	}
	b.Append(&second[0], 0)
	encoded := finish(b, nil)
	checkRecords(t, encoded, second)
	if &encoded[0] != &buf[:1][0] {
		t.Error("the buffer given to Reset was not used")
	}
}

// TestResetForgetsDeliveries: the spare room of the reused slice holds nothing
// that the garbage collector would have to keep.
func TestResetForgetsDeliveries(t *testing.T) {
	b := new(batcher.Batch[*int])
	for range 5 {
		b.Append(&batcher.Record{}, new(int))
	}
	kept := b.Deliveries()
	b.Reset(nil)
	for i, d := range kept {
		if d != nil {
			t.Errorf("delivery %d survived Reset", i)
		}
	}
}

func TestAppendToSealedPanics(t *testing.T) {
	b := fill([]batcher.Record{{}})
	b.Seal(nil, nil)
	defer func() {
		if recover() == nil {
			t.Error("a record was appended to a sealed batch")
		}
	}()
	b.Append(&batcher.Record{}, 1)
}
