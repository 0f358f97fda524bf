package producer

import (
	"errors"
	"fmt"
	"slices"
	"time"
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

	// ProducerID is that of the lane. Lane.Checkpoint waits for it; -1, which
	// Resume refuses, only stands in one that was made by hand.
	ProducerID int64

	// Epoch is the one that the producer ID began with.
	Epoch int16

	// Taken is when the checkpoint was taken, by the clock of the process. Its
	// location is not stored.
	Taken time.Time

	// Stamps says whether the lane's records bring timestamps of their own.
	Stamps Stamps

	// Verified is PartitionCheckpoint.Verified of every partition of topics that
	// are not among Topics. It is zero, as are all others, with StampsOwn: brokers
	// forget by those.
	Verified time.Time

	// Topics are those that the lane writes to, in order of their names. Empty
	// if ProducerID is -1, or if the lane knew no topic yet.
	Topics []TopicCheckpoint

	// Partitions are those that the lane has written to, in order of topic and
	// partition. Empty if ProducerID is -1.
	Partitions []PartitionCheckpoint
}

// TopicCheckpoint is what a lane relies on in a topic.
type TopicCheckpoint struct {
	Topic   string
	TopicID [16]byte // zero if the cluster has no topic IDs

	// Partitions is over how many partitions the lane spreads keys: as many as
	// the topic had when the lane learnt of it. It stays so for the life of the
	// lane, whatever is added to the topic, because the same record must get
	// the same partition again. 0: not known, in a checkpoint of version 1.
	Partitions int32

	// Verified is that of every partition of the topic that is not among
	// Checkpoint.Partitions.
	Verified time.Time
}

// PartitionCheckpoint is how far a lane has come in one partition.
type PartitionCheckpoint struct {
	Topic     string
	TopicID   [16]byte // zero if the cluster has no topic IDs
	Partition int32
	Epoch     int16 // of the producer in this partition
	Next      int32 // sequence of the next record; those before it are written
	Offset    int64 // of the last record written, -1: not known

	// Verified is when the leader, or the log, last showed that nothing had
	// been written behind Next. What a broker does not know by then was not
	// written, or it was forgotten since. Whole seconds before Taken; zero if it
	// was never shown.
	Verified time.Time

	// LogEnd is an offset before which nothing of the lane lies that is behind
	// Next: where the log ended then, or behind the last record of known offset.
	// 0 if neither is known, or neither is behind Offset.
	LogEnd int64
}

// forgetVerified makes it one of a lane of which leaders may forget anything at any
// moment: a record of it had a timestamp of its own.
func (c *Checkpoint) forgetVerified() {
	c.Verified = time.Time{}
	for i := range c.Topics {
		c.Topics[i].Verified = time.Time{}
	}
	for i := range c.Partitions {
		c.Partitions[i].Verified = time.Time{}
	}
}

// String is a short summary.
func (c Checkpoint) String() string {
	if c.ProducerID < 0 {
		return "checkpoint of a lane that has written nothing, taken " + c.Taken.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("checkpoint of producer id %d: %d partitions, taken %s",
		c.ProducerID, len(c.Partitions), c.Taken.UTC().Format(time.RFC3339))
}

// MarshalBinary returns the compact form, about 14 bytes a partition. The error
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

func badVersion(v int) error {
	return badCheckpoint("it is of version %d, this release reads versions 1 to %d", v, checkpointVersion)
}

// checkpointForm is what both forms hold. Its numbers are wide, so that one that
// is out of range can be told with all others.
type checkpointForm struct {
	Version    int         `json:"version"`
	ClusterID  string      `json:"cluster_id"`
	ProducerID int64       `json:"producer_id"`
	Epoch      int64       `json:"epoch"`
	Taken      time.Time   `json:"taken"`
	Age        formAge     `json:"verified,omitzero"`
	Stamps     int64       `json:"stamps,omitzero"`
	Topics     []topicForm `json:"topics"`
	CRC32C     string      `json:"crc32c"` // of the binary form, in JSON only
}

// topicForm is a topic, with the run of its partitions.
type topicForm struct {
	Topic      string          `json:"topic"`
	ID         formTopicID     `json:"id,omitzero"`
	Count      int64           `json:"count,omitzero"` // of its partitions
	Age        formAge         `json:"verified,omitzero"`
	Partitions []partitionForm `json:"partitions"`
}

type partitionForm struct {
	Partition int64   `json:"partition"`
	Epoch     int64   `json:"epoch"`
	Next      int64   `json:"next"`
	Offset    int64   `json:"offset"`
	Age       formAge `json:"verified,omitzero"`
	// Behind is how far behind Offset the log ended, 0 if that is not known.
	Behind int64 `json:"log_end_behind,omitzero"`
}

// formAge is how long before the checkpoint something was verified: 1 for less
// than a second, and so on; 0 for never.
type formAge int64

func ageOf(verified, taken time.Time) formAge {
	if verified.IsZero() {
		return 0
	}
	return formAge(max(0, taken.Sub(verified)+time.Second-1)/time.Second) + 1
}

// before is the time that the age tells, from the second in which the
// checkpoint was taken.
func (a formAge) before(taken time.Time) time.Time {
	if a == 0 {
		return time.Time{}
	}
	return taken.Add(-time.Duration(a-1) * time.Second)
}

func (c *Checkpoint) form() *checkpointForm {
	f := &checkpointForm{
		Version: checkpointVersion, ClusterID: c.ClusterID, ProducerID: c.ProducerID,
		Epoch: int64(c.Epoch), Taken: c.Taken.UTC(), Age: ageOf(c.Verified, c.Taken), Stamps: int64(c.Stamps), Topics: []topicForm{},
	}
	for _, t := range c.Topics {
		f.Topics = append(f.Topics, topicForm{
			Topic: t.Topic, ID: t.TopicID, Count: int64(t.Partitions),
			Age: ageOf(t.Verified, c.Taken), Partitions: []partitionForm{},
		})
	}
	at, before := 0, "" // the run, and the topic, of the partition before
	for _, p := range c.Partitions {
		if p.Topic < before {
			at = len(f.Topics) // out of order, which check will say
		}
		at, before = f.run(at, p.Topic, p.TopicID), p.Topic
		form := partitionForm{
			int64(p.Partition), int64(p.Epoch), int64(p.Next), p.Offset, ageOf(p.Verified, c.Taken), 0,
		}
		if p.LogEnd > 0 {
			form.Behind = p.LogEnd - p.Offset
		}
		f.Topics[at].Partitions = append(f.Topics[at].Partitions, form)
	}
	return f
}

// run returns the number of the topic's run, which it makes if there is none at
// or behind the given one.
func (f *checkpointForm) run(from int, topic string, id [16]byte) int {
	for i := from; i < len(f.Topics); i++ {
		t := &f.Topics[i]
		if t.Topic == topic && t.ID == id {
			return i
		}
		if t.Topic > topic {
			f.Topics = slices.Insert(f.Topics, i, topicForm{Topic: topic, ID: id})
			return i
		}
	}
	f.Topics = append(f.Topics, topicForm{Topic: topic, ID: id})
	return len(f.Topics) - 1
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
	c.Verified, c.Stamps = f.Age.before(c.Taken), Stamps(f.Stamps)
	c.Partitions = slices.Grow(c.Partitions, n)
	for _, t := range f.Topics {
		c.Topics = append(c.Topics, TopicCheckpoint{
			Topic: t.Topic, TopicID: t.ID, Partitions: int32(t.Count), Verified: t.Age.before(c.Taken),
		})
		for _, p := range t.Partitions {
			pc := PartitionCheckpoint{
				Topic: t.Topic, TopicID: t.ID, Partition: int32(p.Partition),
				Epoch: int16(p.Epoch), Next: int32(p.Next), Offset: p.Offset,
				Verified: p.Age.before(c.Taken),
			}
			if p.Behind > 0 {
				pc.LogEnd = p.Offset + p.Behind
			}
			c.Partitions = append(c.Partitions, pc)
		}
	}
	return nil
}
