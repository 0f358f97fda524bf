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

func badVersion(v int) error {
	return badCheckpoint("it is of version %d, this release reads version %d", v, checkpointVersion)
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
