package batcher_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/sluice-kafka/sluice/batcher"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// decoded is a batch as another code base reads it.
type decoded struct {
	kmsg.RecordBatch
	records []batcher.Record
}

// decode reads a batch with kmsg and checks all that a broker checks of it, and
// the deltas.
func decode(encoded []byte) (decoded, error) {
	var d decoded
	if err := d.ReadFrom(encoded); err != nil {
		return d, err
	}
	crc := int32(crc32.Checksum(encoded[21:], crc32.MakeTable(crc32.Castagnoli)))
	switch {
	case int(d.Length) != len(encoded)-12:
		return d, fmt.Errorf("length %d of %d bytes", d.Length, len(encoded))
	case d.CRC != crc:
		return d, fmt.Errorf("checksum %x, want %x", d.CRC, crc)
	case d.Magic != 2, d.FirstOffset != 0, d.PartitionLeaderEpoch != -1, d.LastOffsetDelta != d.NumRecords-1:
		return d, fmt.Errorf("header %+v", d.RecordBatch)
	}
	src := d.Records
	switch d.Attributes {
	case 0:
	case 1:
		gz, err := gzip.NewReader(bytes.NewReader(src))
		if err != nil {
			return d, err
		}
		if src, err = io.ReadAll(gz); err != nil {
			return d, err
		}
	default:
		return d, fmt.Errorf("attributes %d", d.Attributes)
	}
	return d, d.readRecords(src)
}

func (d *decoded) readRecords(src []byte) error {
	for i := range d.NumRecords {
		body, n := binary.Varint(src)
		if n <= 0 || body < 0 || body > int64(len(src)-n) {
			return fmt.Errorf("record %d: length %d", i, body)
		}
		var k kmsg.Record
		if err := k.ReadFrom(src[:n+int(body)]); err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		if got := len(k.AppendTo(nil)); got != n+int(body) || k.OffsetDelta != i || k.Attributes != 0 {
			return fmt.Errorf("record %d of %d bytes: %d bytes, offset delta %d, attributes %d", i, n+int(body), got, k.OffsetDelta, k.Attributes)
		}
		r := batcher.Record{Key: k.Key, Value: k.Value, Timestamp: d.FirstTimestamp + k.TimestampDelta64}
		for _, h := range k.Headers {
			r.Headers = append(r.Headers, batcher.Header{Key: h.Key, Value: h.Value})
		}
		d.records = append(d.records, r)
		src = src[n+int(body):]
	}
	if len(src) > 0 {
		return fmt.Errorf("%d bytes behind the last record", len(src))
	}
	return nil
}

// same says whether two records are equal, null and empty told apart.
func same(a, b batcher.Record) bool {
	if len(a.Headers) == 0 {
		a.Headers = nil // no headers is one thing, nil or not
	}
	if len(b.Headers) == 0 {
		b.Headers = nil
	}
	return reflect.DeepEqual(a, b)
}

// checkRecords fails the test unless the encoded batch holds exactly want.
func checkRecords(t *testing.T, encoded []byte, want []batcher.Record) decoded {
	t.Helper()
	d, err := decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.records) != len(want) {
		t.Fatalf("%d records, want %d", len(d.records), len(want))
	}
	for i := range want {
		if !same(d.records[i], want[i]) {
			t.Fatalf("record %d: %+v, want %+v", i, d.records[i], want[i])
		}
	}
	return d
}

// randomRecords returns records of all shapes: null, empty and longer keys,
// values and header values, timestamps that go back and forth.
func randomRecords(rng *rand.Rand, n int) []batcher.Record {
	records := make([]batcher.Record, n)
	for i := range records {
		r := &records[i]
		r.Key, r.Value = randomBytes(rng), randomBytes(rng)
		r.Timestamp = 1_790_000_000_000 + rng.Int64N(1<<uint(1+rng.IntN(40))) - 1<<20
		for range rng.IntN(4) {
			r.Headers = append(r.Headers, batcher.Header{Key: string(randomBytes(rng)), Value: randomBytes(rng)})
		}
	}
	return records
}

func randomBytes(rng *rand.Rand) []byte {
	switch rng.IntN(4) {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return bytes.Repeat([]byte{byte(rng.Uint32())}, rng.IntN(70))
	default:
		return bytes.Repeat([]byte("value "), rng.IntN(60))
	}
}

// fill returns a batch of the records, each with its index as its delivery.
func fill(records []batcher.Record) *batcher.Batch[int] {
	b := new(batcher.Batch[int])
	for i := range records {
		b.Append(&records[i], i)
	}
	return b
}

// finish seals and stamps a batch and returns its bytes.
func finish(b *batcher.Batch[int], c batcher.Compressor) []byte {
	b.Seal(c, nil)
	b.Stamp(1, 0, 0)
	return b.Encoded()
}
