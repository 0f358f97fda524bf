package producer

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"time"
)

// The binary form, version 1. Integers are big-endian, varints those of
// encoding/binary, a text is its length as a uvarint and its bytes:
//
//	"SLCP", version (1 byte), length of the body (4)
//	body: cluster id (text), producer id, epoch (varints),
//	      taken: seconds since 1970 (varint), nanoseconds (uvarint),
//	      number of runs (uvarint), of each: topic (text), topic id (16),
//	      number of partitions (uvarint), of each, as varints: partition, less
//	      the one before it; epoch, less that above; next; offset
//	CRC-32C of all before it (4)
const (
	checkpointMagic   = "SLCP"
	checkpointVersion = 1

	formHead = len(checkpointMagic) + 1 + 4
	formTail = 4

	leastTopic     = 1 + 16 + 1 // bytes of a run without name and partitions
	leastPartition = 4          // bytes
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (f *checkpointForm) binary() []byte {
	b := append([]byte(checkpointMagic), checkpointVersion, 0, 0, 0, 0)
	b = appendText(b, f.ClusterID)
	b = binary.AppendVarint(b, f.ProducerID)
	b = binary.AppendVarint(b, f.Epoch)
	b = binary.AppendVarint(b, f.Taken.Unix())
	b = binary.AppendUvarint(b, uint64(f.Taken.Nanosecond()))
	b = binary.AppendUvarint(b, uint64(len(f.Topics)))
	for i := range f.Topics {
		t := &f.Topics[i]
		b = appendText(b, t.Topic)
		b = append(b, t.ID[:]...)
		b = binary.AppendUvarint(b, uint64(len(t.Partitions)))
		last := int64(0)
		for _, p := range t.Partitions {
			b = binary.AppendVarint(b, p.Partition-last)
			b = binary.AppendVarint(b, p.Epoch-f.Epoch)
			b = binary.AppendVarint(b, p.Next)
			b = binary.AppendVarint(b, p.Offset)
			last = p.Partition
		}
	}
	binary.BigEndian.PutUint32(b[formHead-4:], uint32(len(b)-formHead))
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// parseBinary reads the form; its values are not checked yet.
func parseBinary(data []byte) (*checkpointForm, error) {
	head := data[:min(len(data), len(checkpointMagic))]
	switch {
	case len(data) == 0:
		return nil, badCheckpoint("it is empty")
	case !strings.HasPrefix(checkpointMagic, string(head)):
		return nil, badCheckpoint("it does not begin as one")
	case len(data) > len(head) && data[len(head)] != checkpointVersion:
		return nil, badVersion(int(data[len(head)]))
	case len(data) < formHead:
		return nil, badCheckpoint("it is cut short after %d bytes", len(data))
	}
	size := uint64(formHead) + uint64(binary.BigEndian.Uint32(data[formHead-4:])) + uint64(formTail)
	switch have := uint64(len(data)); {
	case have < size:
		return nil, badCheckpoint("it is cut short after %d of %d bytes", have, size)
	case have > size:
		return nil, badCheckpoint("there are %d bytes behind its end", have-size)
	}
	body, sum := data[:len(data)-formTail], data[len(data)-formTail:]
	if binary.BigEndian.Uint32(sum) != crc32.Checksum(body, castagnoli) {
		return nil, badCheckpoint("the checksum is wrong")
	}
	r := formReader{rest: body[formHead:]}
	f := r.form()
	if r.bad || len(r.rest) > 0 {
		return nil, badCheckpoint("its parts do not fit its length")
	}
	return f, nil
}

// formReader reads a body from its front. After the end it gives zeros, and is
// bad. No count makes it allocate more than the bytes behind it can stand for.
type formReader struct {
	rest []byte
	bad  bool
}

func (r *formReader) form() *checkpointForm {
	f := &checkpointForm{Version: checkpointVersion, ClusterID: string(r.text())}
	f.ProducerID, f.Epoch = r.varint(), r.varint()
	seconds, nanos := r.varint(), r.uvarint()
	if nanos >= uint64(time.Second) {
		r.bad = true
		return f
	}
	f.Taken = time.Unix(seconds, int64(nanos)).UTC()
	f.Topics = make([]topicForm, r.count(leastTopic))
	for i := range f.Topics {
		t := &f.Topics[i]
		t.Topic = string(r.text())
		copy(t.ID[:], r.bytes(uint64(len(t.ID))))
		t.Partitions = make([]partitionForm, r.count(leastPartition))
		last := int64(0)
		for j := range t.Partitions {
			last += r.varint()
			t.Partitions[j] = partitionForm{last, f.Epoch + r.varint(), r.varint(), r.varint()}
		}
	}
	return f
}

func (r *formReader) varint() int64 {
	v, n := binary.Varint(r.rest)
	r.skip(n)
	return v
}

func (r *formReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.skip(n)
	return v
}

// skip passes over n bytes; what is not positive is that of a bad varint.
func (r *formReader) skip(n int) {
	if n <= 0 {
		r.rest, r.bad = nil, true
		return
	}
	r.rest = r.rest[n:]
}

func (r *formReader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *formReader) text() []byte { return r.bytes(r.uvarint()) }

// count reads how many things follow that have so many bytes at least.
func (r *formReader) count(least int) int {
	n := r.uvarint()
	if n > uint64(len(r.rest)/least) {
		r.rest, r.bad = nil, true
		return 0
	}
	return int(n)
}
