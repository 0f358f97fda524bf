package sink

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// rawBatch makes a batch that is sound, of records that nobody looks at.
func rawBatch(id int64, first, records int32) []byte {
	b := make([]byte, batchHead+20)
	be := binary.BigEndian
	be.PutUint32(b[8:], uint32(len(b)-12))
	b[16] = 2
	be.PutUint64(b[43:], uint64(id))
	be.PutUint32(b[53:], uint32(first))
	be.PutUint32(b[57:], uint32(records))
	be.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}

func TestSequences(t *testing.T) {
	type step struct {
		id             int64
		first, records int32
		offset         int64
		code           int16
	}
	const none = -1
	for name, steps := range map[string][]step{
		"in order":            {{7, 0, 10, 0, 0}, {7, 10, 5, 10, 0}, {7, 15, 1, 15, 0}},
		"a gap":               {{7, 0, 10, 0, 0}, {7, 11, 5, none, codeOutOfOrder}, {7, 10, 5, 10, 0}},
		"a start not at 0":    {{7, 1, 10, none, codeOutOfOrder}, {7, 0, 1, 0, 0}},
		"a duplicate":         {{7, 0, 10, 0, 0}, {7, 10, 5, 10, 0}, {7, 0, 10, 0, 0}, {7, 10, 5, 10, 0}, {7, 15, 5, 15, 0}},
		"cut otherwise":       {{7, 0, 10, 0, 0}, {7, 0, 9, none, codeDuplicate}},
		"older than five":     {{7, 0, 1, 0, 0}, {7, 1, 1, 1, 0}, {7, 2, 1, 2, 0}, {7, 3, 1, 3, 0}, {7, 4, 1, 4, 0}, {7, 5, 1, 5, 0}, {7, 0, 1, none, codeDuplicate}, {7, 1, 1, 1, 0}},
		"two producers":       {{7, 0, 10, 0, 0}, {8, 0, 5, 10, 0}, {7, 10, 1, 15, 0}},
		"without a number":    {{-1, -1, 10, 0, 0}, {-1, -1, 10, 10, 0}},
		"no records":          {{7, 0, 0, none, codeCorrupt}},
		"a negative sequence": {{7, 0, 1, 0, 0}, {7, -1, 1, none, codeDuplicate}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLog(1, true)
			for i, s := range steps {
				offset, code := l.append(0, rawBatch(s.id, s.first, s.records))
				if offset != s.offset || code != s.code {
					t.Errorf("step %d: offset %d, code %d, want %d, %d", i, offset, code, s.offset, s.code)
				}
			}
		})
	}
}

func TestSequencesWrap(t *testing.T) {
	p := &partition{producers: map[producer]*chain{{7, 0}: {next: 1<<31 - 4}}}
	for _, b := range []appended{{first: 1<<31 - 4, records: 10}, {first: 6, records: 1}} {
		if _, code := p.append(producer{7, 0}, b); code != codeNone {
			t.Errorf("%+v: code %d", b, code)
		}
	}
	if _, code := p.append(producer{7, 0}, appended{first: 1<<31 - 5, records: 1}); code != codeDuplicate {
		t.Errorf("behind the wrap: code %d", code)
	}
}

func TestBrokenBatches(t *testing.T) {
	breaks := map[string]func([]byte) []byte{
		"a flipped bit": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"cut":           func(b []byte) []byte { return b[:len(b)-1] },
		"a head":        func(b []byte) []byte { return b[:30] },
		"nothing":       func([]byte) []byte { return nil },
		"an old format": func(b []byte) []byte { b[16] = 1; return b },
	}
	for name, damage := range breaks {
		l := newLog(1, true)
		if _, code := l.append(0, damage(rawBatch(7, 0, 1))); code != codeCorrupt || l.stats().Corrupt != 1 || l.stats().Records != 0 {
			t.Errorf("%s: code %d, %+v", name, code, l.stats())
		}
	}
	unchecked := newLog(1, false)
	if _, code := unchecked.append(0, breaks["a flipped bit"](rawBatch(7, 0, 1))); code != codeNone {
		t.Errorf("unchecked: code %d", code)
	}
	for _, index := range []int32{-1, 1} {
		if _, code := unchecked.append(index, rawBatch(7, 0, 1)); code != codeUnknownPartition {
			t.Errorf("partition %d: code %d", index, code)
		}
	}
}

func TestStatsCountWhatIsNew(t *testing.T) {
	l := newLog(2, true)
	for _, b := range [][]byte{rawBatch(7, 0, 10), rawBatch(7, 0, 10), rawBatch(7, 99, 1), rawBatch(7, 10, 2)} {
		l.append(1, b)
	}
	want := Stats{Batches: 4, Records: 12, Bytes: 2 * int64(len(rawBatch(7, 0, 1))), Duplicates: 1, OutOfOrder: 1}
	if got := l.stats(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
