package producer

import (
	"time"

	"github.com/sluice-kafka/sluice/batcher"
	"github.com/sluice-kafka/sluice/retry"
)

// Header is one header of a record: a key and a value that may be nil.
type Header = batcher.Header

// Record is one record to produce.
//
// A nil Key or Value is a Kafka null; an empty one is present with no bytes.
// Key, Value and Headers are copied before Produce returns, the caller may
// reuse them at once.
type Record struct {
	Topic   string
	Key     []byte
	Value   []byte
	Headers []Header

	// Timestamp is when the record came into being; zero is now. Kafka keeps
	// milliseconds from 1970 on; a time that they do not hold is refused
	// (ErrInvalidRecord). Records with old timestamps are written one batch at a
	// time: a broker may forget the producer by them (KIP-854).
	Timestamp time.Time

	// Partition pins the record to a partition, see On. The zero value leaves
	// the choice to the partitioner: by murmur2 of the key as the Java client
	// does, or without a key in runs of about a batch.
	Partition Pin

	// Tag comes back in the Result, so that one callback can serve many records.
	Tag any
}

// Pin is a choice of partition. The zero value is none.
type Pin struct{ next int32 }

// On pins a record to a partition. A negative one is refused by Produce. One
// that the topic does not have may be new: it is looked for, and after some
// seconds the record fails with ErrUnknownPartition.
func On(partition int32) Pin {
	if partition < 0 {
		return Pin{next: -1}
	}
	return Pin{next: partition + 1}
}

// Outcome says what is known of a record in the end.
type Outcome = retry.Outcome

const (
	// Unknown: the record may be in the log, or may not. An attempt to write
	// it got no answer that says.
	Unknown = retry.Unknown
	// NotWritten: the record is not in the log and will not get there.
	NotWritten = retry.NotWritten
	// Written: the record is in the log and replicated as acks=all demands.
	Written = retry.Written
)

// Result is the one answer to a record.
type Result struct {
	Topic     string
	Partition int32 // -1: none was chosen

	// Offset of the record in its partition. -1 unless Written, and also when
	// a later success proved the record written after a fault while another
	// producer wrote to the partition too.
	Offset int64

	// Timestamp that the log has for the record: its own, or the broker's on
	// a topic with LogAppendTime (a record that only a later success proved
	// shows its own there, too). Zero unless Written.
	Timestamp time.Time

	Tag     any
	Outcome Outcome
	Err     error // nil exactly if Written, otherwise a *RecordError
}
