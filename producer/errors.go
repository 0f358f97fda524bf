package producer

import (
	"errors"
	"fmt"

	"github.com/sluice-kafka/sluice/retry"
)

// Code is an error code that a broker answered. Use errors.Is to look for one
// in the error of a Result.
type Code = retry.Code

var (
	// ErrClosed: the producer is closed, or was before the record had its place.
	ErrClosed = errors.New("producer is closed")
	// ErrBufferFull: no room in the buffer, and the caller would not or no
	// longer wait (TryProduce, max.block.ms).
	ErrBufferFull = errors.New("buffer is full")
	// ErrRecordTooLarge: the record is larger than max.request.size or
	// buffer.memory, or the broker finds it too large even alone.
	ErrRecordTooLarge = errors.New("record is too large")
	// ErrDeliveryTimeout: delivery.timeout.ms passed.
	ErrDeliveryTimeout = errors.New("delivery timeout")
	// ErrInvalidRecord: the record itself is at fault; the text says how.
	ErrInvalidRecord = errors.New("invalid record")
	// ErrUnknownPartition: the topic has no such partition.
	ErrUnknownPartition = errors.New("unknown partition")
	// ErrSecondOwner: a newer epoch of the producer ID exists, so someone else
	// uses it. The partition takes no more records.
	ErrSecondOwner = errors.New("the producer id has a second owner")
	// ErrStateLost: the broker forgot the producer while records were in doubt.
	ErrStateLost = errors.New("the broker lost the state of the producer")
	// ErrDataLoss: the broker lost records that it had acknowledged, as in an
	// unclean leader election, while others were in doubt.
	ErrDataLoss = errors.New("the broker lost acknowledged records")
	// ErrLaneFailed: a lane has stopped, since a record of it is not known to be
	// written; the error of that one is in the chain.
	ErrLaneFailed = errors.New("the lane has stopped")
	// ErrCannotAsk: a lane can only be resumed where brokers say how far the
	// former process came (DescribeProducers: Kafka 2.8, READ on the topic).
	ErrCannotAsk = errors.New("the broker does not say what it knows of the producer")
	// ErrOtherCluster: a checkpoint is of another cluster, or the brokers are.
	ErrOtherCluster = errors.New("another cluster")
	// ErrTopicRecreated: the topic was deleted and created again while records
	// were in doubt.
	ErrTopicRecreated = errors.New("the topic was recreated")
	// ErrInCallback: Flush, Close, ProduceSync or ProduceAll were called from a
	// delivery callback, which they would wait for.
	ErrInCallback = errors.New("called from a delivery callback")
	// ErrRequestTimeout: a broker did not answer within request.timeout.ms.
	ErrRequestTimeout = errors.New("request timeout")
)

// RecordError says why a record is not known to be written.
type RecordError struct {
	Topic     string
	Partition int32 // -1: none was chosen
	Outcome   Outcome
	Attempts  int // how often the record was sent
	Err       error
}

// Error names the record's partition, what is known, and the reason.
func (e *RecordError) Error() string {
	where := fmt.Sprintf("%q", e.Topic)
	if e.Partition >= 0 {
		where = fmt.Sprintf("%q partition %d", e.Topic, e.Partition)
	}
	return fmt.Sprintf("producer: record for %s %s after %d attempts: %v", where, e.Outcome, e.Attempts, e.Err)
}

// Unwrap returns the reason.
func (e *RecordError) Unwrap() error { return e.Err }

// SafeToResend reports whether err says that its record is surely not in the
// log, so that producing it again cannot double it.
func SafeToResend(err error) bool {
	var re *RecordError
	return errors.As(err, &re) && re.Outcome == NotWritten
}

// because joins a reason with what happened last, if that says more.
func because(reason, last error) error {
	switch {
	case last == nil:
		return reason
	case errors.Is(last, reason):
		return last
	}
	return fmt.Errorf("%w: %w", reason, last)
}
