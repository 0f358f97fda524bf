package producer

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrCheckpoint says that bytes are no checkpoint that this release reads, or
// that its values are impossible. The text says which and how.
var ErrCheckpoint = errors.New("bad checkpoint")

// Checkpoint is how far a lane has come: everything produced before some point
// is written, and nothing after it is counted. A pipeline stores it together
// with the place of that point in its input; Producer.Resume goes on from there.
//
// It is a plain value; a copy shares Partitions. It holds no record and no
// secret. To store it there are a binary and a JSON form, both with a version
// and a checksum. Every later release reads what this one writes. The JSON form
// may be reformatted and its keys reordered, as some databases do.
//
// A Checkpoint is worth something only if Lane.Checkpoint or Mark.Checkpoint
// made it; the zero value is refused.
type Checkpoint struct {
	// ClusterID is that of the cluster, empty if it names none.
	ClusterID string

	// ProducerID is that of the lane, -1 before its first record.
	ProducerID int64

	// Epoch is the one that the producer ID began with.
	Epoch int16

	// Taken is when the checkpoint was taken, by the clock of the process. Its
	// location is not stored.
	Taken time.Time

	// Partitions are those that the lane has written to, in order of topic and
	// partition. Empty if ProducerID is -1.
	Partitions []PartitionCheckpoint
}

// PartitionCheckpoint is how far a lane has come in one partition.
type PartitionCheckpoint struct {
	Topic     string
	TopicID   [16]byte // zero if the cluster has no topic IDs
	Partition int32
	Epoch     int16 // of the producer in this partition
	Next      int32 // sequence of the next record; those before it are written
	Offset    int64 // of the last record written, -1: not known
}

// String is a short summary.
func (c Checkpoint) String() string {
	if c.ProducerID < 0 {
		return "checkpoint of a lane that has written nothing, taken " + c.Taken.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("checkpoint of producer id %d: %d partitions, taken %s",
		c.ProducerID, len(c.Partitions), c.Taken.UTC().Format(time.RFC3339))
}

// MarshalBinary returns the compact form, about 10 bytes a partition. The error
// has ErrCheckpoint in its chain and names every impossible value.
func (c Checkpoint) MarshalBinary() ([]byte, error) {
	f := c.form()
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.binary(), nil
}

// UnmarshalBinary reads what MarshalBinary wrote, no more and no less. Any
// error has ErrCheckpoint in its chain, and leaves c as it is. It keeps nothing
// of data.
func (c *Checkpoint) UnmarshalBinary(data []byte) error {
	f, err := parseBinary(data)
	if err != nil {
		return err
	}
	return f.into(c)
}

// MarshalJSON returns the readable form, one object. Its errors are those of
// MarshalBinary.
func (c Checkpoint) MarshalJSON() ([]byte, error) {
	f := c.form()
	if err := f.check(); err != nil {
		return nil, err
	}
	return f.json()
}

// UnmarshalJSON reads what MarshalJSON wrote. Its errors are those of
// UnmarshalBinary; null is one.
func (c *Checkpoint) UnmarshalJSON(data []byte) error {
	f, err := parseJSON(data)
	if err != nil {
		return err
	}
	return f.into(c)
}

func badCheckpoint(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCheckpoint, fmt.Errorf(format, args...))
}

// checkpointForm is what both forms hold. Its numbers are wide, so that one that
// is out of range can be told with all others.
type checkpointForm struct {
	Version    int         `json:"version"`
	ClusterID  string      `json:"cluster_id"`
	ProducerID int64       `json:"producer_id"`
	Epoch      int64       `json:"epoch"`
	Taken      time.Time   `json:"taken"`
	Topics     []topicForm `json:"topics"`
	CRC32C     string      `json:"crc32c"` // of the binary form, in JSON only
}

// topicForm is a run of partitions with the same topic and topic ID.
type topicForm struct {
	Topic      string          `json:"topic"`
	ID         formTopicID     `json:"id,omitzero"`
	Partitions []partitionForm `json:"partitions"`
}

type partitionForm struct {
	Partition int64 `json:"partition"`
	Epoch     int64 `json:"epoch"`
	Next      int64 `json:"next"`
	Offset    int64 `json:"offset"`
}

func (c *Checkpoint) form() *checkpointForm {
	f := &checkpointForm{
		Version: checkpointVersion, ClusterID: c.ClusterID, ProducerID: c.ProducerID,
		Epoch: int64(c.Epoch), Taken: c.Taken.UTC(), Topics: []topicForm{},
	}
	for _, p := range c.Partitions {
		last := len(f.Topics) - 1
		if last < 0 || f.Topics[last].Topic != p.Topic || f.Topics[last].ID != p.TopicID {
			f.Topics = append(f.Topics, topicForm{Topic: p.Topic, ID: p.TopicID})
			last++
		}
		t := &f.Topics[last]
		t.Partitions = append(t.Partitions, partitionForm{int64(p.Partition), int64(p.Epoch), int64(p.Next), p.Offset})
	}
	return f
}

// into sets c, if all values are possible.
func (f *checkpointForm) into(c *Checkpoint) error {
	if err := f.check(); err != nil {
		return err
	}
	n := 0
	for i := range f.Topics {
		n += len(f.Topics[i].Partitions)
	}
	*c = Checkpoint{ClusterID: f.ClusterID, ProducerID: f.ProducerID, Epoch: int16(f.Epoch), Taken: f.Taken.UTC()}
	c.Partitions = slices.Grow(c.Partitions, n)
	for _, t := range f.Topics {
		for _, p := range t.Partitions {
			c.Partitions = append(c.Partitions, PartitionCheckpoint{
				Topic: t.Topic, TopicID: t.ID, Partition: int32(p.Partition),
				Epoch: int16(p.Epoch), Next: int32(p.Next), Offset: p.Offset,
			})
		}
	}
	return nil
}

const (
	maxTopicName = 249   // bytes; Kafka allows no more
	maxClusterID = 32767 // bytes; the longest string of Kafka's protocol
)

// check reports all impossible values.
func (f *checkpointForm) check() error {
	var bad formFaults
	bad.text("the cluster id", f.ClusterID, 0, maxClusterID)
	bad.between("the producer id", f.ProducerID, -1, math.MaxInt64)
	if f.Taken.IsZero() || f.Taken.Year() < 1 || f.Taken.Year() > 9999 {
		bad.add("it was never taken, its time is %v", f.Taken)
	}
	if f.ProducerID < 0 {
		bad.between("the epoch", f.Epoch, -1, 0)
		if len(f.Topics) > 0 {
			bad.add("there are partitions, and no producer id")
		}
	} else {
		bad.between("the epoch", f.Epoch, 0, math.MaxInt16)
	}
	bad.topics(f)
	return bad.err()
}

// formFaults collects what is impossible; the first few in words.
type formFaults struct {
	words []string
	more  int
}

func (b *formFaults) add(format string, args ...any) {
	if len(b.words) == 10 {
		b.more++
		return
	}
	b.words = append(b.words, fmt.Sprintf(format, args...))
}

func (b *formFaults) between(what string, v, low, high int64) {
	if v < low || v > high {
		b.add("%s is %d, not from %d to %d", what, v, low, high)
	}
}

func (b *formFaults) text(what, s string, low, high int) {
	if len(s) < low || len(s) > high {
		b.add("%s has %d bytes, not from %d to %d", what, len(s), low, high)
	} else if !utf8.ValidString(s) {
		b.add("%s %q is not UTF-8", what, s)
	}
}

func (b *formFaults) topics(f *checkpointForm) {
	lastTopic, lastPartition := "", int64(-1)
	for i := range f.Topics {
		t := &f.Topics[i]
		b.text("a topic name", t.Topic, 1, maxTopicName)
		if len(t.Partitions) == 0 {
			b.add("topic %.300q has no partition", t.Topic)
		}
		for _, p := range t.Partitions {
			b.partition(f, t.Topic, p)
			switch order := cmp.Or(strings.Compare(t.Topic, lastTopic), cmp.Compare(p.Partition, lastPartition)); {
			case order == 0:
				b.add("topic %.300q partition %d is there twice", t.Topic, p.Partition)
			case order < 0 && lastPartition >= 0:
				b.add("topic %.300q partition %d is out of order", t.Topic, p.Partition)
			}
			lastTopic, lastPartition = t.Topic, p.Partition
		}
	}
}

func (b *formFaults) partition(f *checkpointForm, topic string, p partitionForm) {
	at := func(what string) string {
		return fmt.Sprintf("topic %.300q partition %d: %s", topic, p.Partition, what)
	}
	if p.Partition < 0 || p.Partition > math.MaxInt32 {
		b.add("topic %.300q has no partition %d", topic, p.Partition)
	}
	if p.Epoch < max(f.Epoch, 0) || p.Epoch > math.MaxInt16 {
		b.between(at("the epoch"), p.Epoch, max(f.Epoch, 0), math.MaxInt16)
	}
	if p.Next < 0 || p.Next > math.MaxInt32 {
		b.between(at("the next sequence"), p.Next, 0, math.MaxInt32)
	}
	if p.Offset < -1 {
		b.between(at("the offset"), p.Offset, -1, math.MaxInt64)
	}
}

func (b *formFaults) err() error {
	if len(b.words) == 0 {
		return nil
	}
	if b.more > 0 {
		b.words = append(b.words, fmt.Sprintf("and %d more", b.more))
	}
	return badCheckpoint("%s", strings.Join(b.words, "; "))
}

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

func badVersion(v int) error {
	return badCheckpoint("it is of version %d, this release reads version %d", v, checkpointVersion)
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

// formTopicID is a topic ID, in JSON as Kafka's own tools print it.
type formTopicID [16]byte

var topicIDText = base64.RawURLEncoding.Strict()

func (id formTopicID) MarshalText() ([]byte, error) { return topicIDText.AppendEncode(nil, id[:]), nil }

func (id *formTopicID) UnmarshalText(text []byte) error {
	b, err := topicIDText.DecodeString(string(text))
	if err != nil || len(b) != len(id) {
		return errors.New("that is no topic id")
	}
	copy(id[:], b)
	return nil
}

func (f *checkpointForm) json() ([]byte, error) {
	f.CRC32C = f.sum()
	return json.Marshal(f)
}

// sum is the checksum of the binary form, so that it holds for the values and
// not for the way in which they are written.
func (f *checkpointForm) sum() string {
	b := f.binary()
	return fmt.Sprintf("%x", b[len(b)-formTail:])
}

// parseJSON reads the form; its values are not checked yet.
func parseJSON(data []byte) (*checkpointForm, error) {
	var v struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, badCheckpoint("it is not the JSON of one: %w", err)
	}
	if v.Version == nil {
		return nil, badCheckpoint("it is not the JSON of one: it has no version")
	}
	if *v.Version != checkpointVersion {
		return nil, badVersion(*v.Version)
	}
	f := &checkpointForm{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(f); err != nil {
		return nil, badCheckpoint("it is not the JSON of one: %w", err)
	}
	f.Taken = f.Taken.UTC()
	if f.CRC32C != f.sum() {
		return nil, badCheckpoint("the checksum is wrong")
	}
	return f, nil
}
