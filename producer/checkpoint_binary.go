package producer

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"time"
)

// The binary form, version 2. Integers are big-endian, varints those of
// encoding/binary, a text is its length as a uvarint and its bytes:
//
//	"SLCP", version (1 byte), length of the body (4)
//	body: cluster id (text), producer id, epoch (varints),
//	      taken: seconds since 1970 (varint), nanoseconds (uvarint),
//	      age of its verification, whether records bring timestamps (uvarints),
//	      number of topics (uvarint), of each: name (text), topic id (16),
//	      its partition count, age of its verification (uvarints),
//	      number of partitions (uvarint), of each, as varints: partition, less
//	      the one before it; epoch, less that above; next; offset; and as
//	      uvarints: age of its verification, log end less offset
//	      number of sections (uvarint), of each: tag (uvarint), content (text)
//	CRC-32C of all before it (4)
//
// An age is formAge. No section is defined yet: they are the room for what a
// later release adds, such as the input position, bytes of the user's, and the
// version of a transform. A section that a reader does not know is an error, as
// it may be one without which the lane must not go on.
//
// Version 1 had neither counts, nor ages, log ends and timestamps, nor sections: who
// resumes from it reads the log wherever a leader does not know the producer ID.
const (
	checkpointMagic   = "SLCP"
	checkpointVersion = 2

	formHead = len(checkpointMagic) + 1 + 4
	formTail = 4

	leastTopic     = 1 + 16 + 1 // bytes of a topic in version 1, without name and partitions
	leastPartition = 4          // bytes, likewise
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (f *checkpointForm) binary() []byte {
	b := append([]byte(checkpointMagic), byte(f.Version), 0, 0, 0, 0)
	b = appendText(b, f.ClusterID)
	b = binary.AppendVarint(b, f.ProducerID)
	b = binary.AppendVarint(b, f.Epoch)
	b = binary.AppendVarint(b, f.Taken.Unix())
	b = binary.AppendUvarint(b, uint64(f.Taken.Nanosecond()))
	if f.Version > 1 {
		b = binary.AppendUvarint(b, uint64(f.Age))
		b = binary.AppendUvarint(b, uint64(f.Stamps))
	}
	b = binary.AppendUvarint(b, uint64(len(f.Topics)))
	for i := range f.Topics {
		t := &f.Topics[i]
		b = appendText(b, t.Topic)
		b = append(b, t.ID[:]...)
		if f.Version > 1 {
			b = binary.AppendUvarint(b, uint64(t.Count))
			b = binary.AppendUvarint(b, uint64(t.Age))
		}
		b = binary.AppendUvarint(b, uint64(len(t.Partitions)))
		last := int64(0)
		for _, p := range t.Partitions {
			b = binary.AppendVarint(b, p.Partition-last)
			b = binary.AppendVarint(b, p.Epoch-f.Epoch)
			b = binary.AppendVarint(b, p.Next)
			b = binary.AppendVarint(b, p.Offset)
			if f.Version > 1 {
				b = binary.AppendUvarint(b, uint64(p.Age))
				b = binary.AppendUvarint(b, uint64(p.Behind))
			}
			last = p.Partition
		}
	}
	if f.Version > 1 {
		b = binary.AppendUvarint(b, 0) // sections
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
	case len(data) > len(head) && !readableVersion(int(data[len(head)])):
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
	r := formReader{rest: body[formHead:], version: int(data[len(head)])}
	f := r.form()
	switch {
	case r.bad || len(r.rest) > 0 && r.section == 0:
		return nil, badCheckpoint("its parts do not fit its length")
	case r.section > 0:
		return nil, badCheckpoint("it has a section %d, of a later release", r.section)
	}
	return f, nil
}

func readableVersion(v int) bool { return 1 <= v && v <= checkpointVersion }

// formReader reads a body from its front. After the end it gives zeros, and is
// bad. No count makes it allocate more than the bytes behind it can stand for.
type formReader struct {
	rest    []byte
	version int
	bad     bool
	section uint64 // the first one, of which none is known
}

func (r *formReader) form() *checkpointForm {
	f := &checkpointForm{Version: r.version, ClusterID: string(r.text())}
	f.ProducerID, f.Epoch = r.varint(), r.varint()
	seconds, nanos := r.varint(), r.uvarint()
	if nanos >= uint64(time.Second) {
		r.bad = true
		return f
	}
	f.Taken = time.Unix(seconds, int64(nanos)).UTC()
	if r.version > 1 {
		f.Age, f.Stamps = formAge(r.uvarint()), int64(r.uvarint())
	}
	f.Topics = make([]topicForm, r.count(leastTopic))
	for i := range f.Topics {
		t := &f.Topics[i]
		t.Topic = string(r.text())
		copy(t.ID[:], r.bytes(uint64(len(t.ID))))
		if r.version > 1 {
			t.Count, t.Age = int64(r.uvarint()), formAge(r.uvarint())
		}
		t.Partitions = make([]partitionForm, r.count(leastPartition))
		last := int64(0)
		for j := range t.Partitions {
			last += r.varint()
			p := &t.Partitions[j]
			p.Partition, p.Epoch, p.Next, p.Offset = last, f.Epoch+r.varint(), r.varint(), r.varint()
			if r.version > 1 {
				p.Age, p.Behind = formAge(r.uvarint()), int64(r.uvarint())
			}
		}
	}
	if r.version > 1 && r.uvarint() > 0 {
		r.section = max(1, r.uvarint())
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
