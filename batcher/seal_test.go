package batcher_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sluice-kafka/sluice/batcher"
)

// stdGzip is a Compressor that shares no code with internal/compress.
type stdGzip struct{}

func (stdGzip) ID() int16 { return 1 }

func (stdGzip) Compress(dst, src []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	w := gzip.NewWriter(out)
	if _, err := w.Write(src); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

// padding compresses badly: it makes extra bytes more than the source has.
type padding struct {
	id    int16
	extra int
	err   error
}

func (p padding) ID() int16 { return p.id }

func (p padding) Compress(dst, src []byte) ([]byte, error) {
	return append(dst, make([]byte, len(src)+p.extra)...), p.err
}

func TestSealCompresses(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	records := randomRecords(rng, 100)
	b := fill(records)
	raw := b.Bytes()
	dst := make([]byte, 10, 1<<16)
	if spare := b.Seal(stdGzip{}, dst); spare != nil {
		t.Fatal("the destination is in use and was returned")
	}
	b.Stamp(1, 2, 3)
	d := checkRecords(t, b.Encoded(), records)
	if d.Attributes != 1 || b.Bytes() >= raw || b.Bytes() != len(b.Encoded()) {
		t.Errorf("attributes %d, %d bytes of %d", d.Attributes, b.Bytes(), raw)
	}
	if &b.Encoded()[0] != &dst[0] {
		t.Error("the destination given to Seal was not used")
	}
	if _, packed := b.Release(); &packed[0] != &dst[0] {
		t.Error("Release did not return the destination")
	}
}

// TestSealKeepsUncompressed: the records go as they are when compression does
// not pay or fails, and the destination comes back.
func TestSealKeepsUncompressed(t *testing.T) {
	for name, c := range map[string]batcher.Compressor{
		"no compressor": nil,
		"codec none":    padding{id: 0, extra: -3},
		"larger":        padding{id: 2, extra: 1},
		"equal":         padding{id: 2},
		"failed":        padding{id: 2, extra: -3, err: errors.New("no")},
	} {
		t.Run(name, func(t *testing.T) {
			records := randomRecords(rand.New(rand.NewPCG(7, 8)), 5)
			b := fill(records)
			dst := make([]byte, 0, 100)
			if spare := b.Seal(c, dst); cap(spare) < 100 {
				t.Errorf("spare of %d bytes", cap(spare))
			}
			b.Stamp(1, 2, 3)
			if d := checkRecords(t, b.Encoded(), records); d.Attributes != 0 {
				t.Errorf("attributes %d", d.Attributes)
			}
		})
	}
	b := fill(nil)
	b.Seal(padding{id: 2, extra: -3}, nil) // an empty batch: nothing to do, no harm done
	b.Stamp(1, 2, 3)
}

func TestSealTakesOneByteLess(t *testing.T) {
	b := fill(randomRecords(rand.New(rand.NewPCG(7, 8)), 5))
	raw := b.Bytes()
	if b.Seal(padding{id: 3, extra: -1}, nil) != nil || b.Bytes() != raw-1 {
		t.Errorf("%d bytes of %d", b.Bytes(), raw)
	}
}

// TestStampTwice: the same identity gives the same bytes, as every attempt must
// (a broker recognises a batch by epoch and sequences, R1); another epoch
// changes the epoch and the checksum, nothing else.
func TestStampTwice(t *testing.T) {
	for name, c := range map[string]batcher.Compressor{"plain": nil, "gzip": stdGzip{}} {
		t.Run(name, func(t *testing.T) {
			records := randomRecords(rand.New(rand.NewPCG(9, 10)), 30)
			b := fill(records)
			b.Seal(c, nil)
			b.Stamp(math.MaxInt64, math.MaxInt16, math.MaxInt32)
			first := bytes.Clone(b.Encoded())
			b.Stamp(math.MaxInt64, math.MaxInt16, math.MaxInt32)
			if !bytes.Equal(first, b.Encoded()) {
				t.Fatal("stamped again, other bytes")
			}
			d := checkRecords(t, first, records)
			if d.ProducerID != math.MaxInt64 || d.ProducerEpoch != math.MaxInt16 || d.FirstSequence != math.MaxInt32 {
				t.Errorf("stamped %d/%d/%d", d.ProducerID, d.ProducerEpoch, d.FirstSequence)
			}
			b.Stamp(math.MaxInt64, 4, 0)
			d = checkRecords(t, b.Encoded(), records)
			if d.ProducerEpoch != 4 || d.FirstSequence != 0 {
				t.Errorf("stamped %d/%d", d.ProducerEpoch, d.FirstSequence)
			}
			for i := range first {
				crcOrEpoch := i >= 17 && i < 21 || i >= 51 && i < 57
				if first[i] != b.Encoded()[i] && !crcOrEpoch {
					t.Errorf("byte %d changed", i)
				}
			}
		})
	}
}

// TestStampWithoutIdempotence: acks other than all have no producer id.
func TestStampWithoutIdempotence(t *testing.T) {
	records := []batcher.Record{{Value: []byte("v")}}
	b := fill(records)
	b.Stamp(-1, -1, -1)
	if d := checkRecords(t, b.Encoded(), records); d.ProducerID != -1 || d.ProducerEpoch != -1 || d.FirstSequence != -1 {
		t.Errorf("stamped %d/%d/%d", d.ProducerID, d.ProducerEpoch, d.FirstSequence)
	}
}
