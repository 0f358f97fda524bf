package producer

import (
	"context"
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
	Attempts  int // how often the record was sent; -1 where nobody waited to see
	Err       error

	over bool // it is of a lane that has stopped
}

// Error names the record's partition, what is known, and the reason: the present
// cause and, if it was another, the first one. It is one line of at most 1 KiB.
func (e *RecordError) Error() string {
	const longestName = 256
	text := "producer: record for " + oneLine(fmt.Sprintf("%.*q", longestName, e.Topic), longestName)
	if e.Partition >= 0 {
		text += fmt.Sprintf(" partition %d", e.Partition)
	}
	text += " " + e.Outcome.String()
	if e.Attempts >= 0 {
		text += fmt.Sprintf(" after %d attempts", e.Attempts)
	}
	return oneLine(text+": "+e.Err.Error(), longestError)
}

// Unwrap returns the reason.
func (e *RecordError) Unwrap() error { return e.Err }

// SafeToResend reports whether err says that its record is surely not in the
// log, so that producing it again cannot double it.
func SafeToResend(err error) bool {
	var re *RecordError
	return errors.As(err, &re) && re.Outcome == NotWritten
}

// Retriable reports whether it is worth producing the record of err again, later
// and in the same producer: what kept it out may be over then. It is not where the
// producer is closed or the lane has stopped, where the record itself is at fault
// (too large, invalid, against a rule of the topic), and where the caller's context
// ended: then nobody wants it any more.
//
// It says nothing of whether the record is in the log already, SafeToResend does.
// A loop asks both, and pauses (docs/outcomes.md).
func Retriable(err error) bool {
	var re *RecordError
	var gone *abandoned
	if !errors.As(err, &re) || re.over || errors.As(err, &gone) {
		return false
	}
	for _, final := range []error{
		ErrClosed, ErrRecordTooLarge, ErrInvalidRecord, ErrSecondOwner, ErrLaneFailed, ErrInCallback, ErrOtherCluster,
		errNegative,
	} {
		if errors.Is(err, final) {
			return false
		}
	}
	var code Code
	if !errors.As(err, &code) {
		return true
	}
	switch code {
	case retry.TopicAuthorizationFailed, retry.ClusterAuthorizationFailed, retry.InvalidProducerIDMapping:
		return true // rights may be given, and the broker may know us again
	}
	return retry.Classify(code, -1).Fate != retry.Refused
}

// abandoned is the end of a context whose caller waited with it.
type abandoned struct {
	err    error // of the context
	placed bool  // the record has its place: it may still be written
	waited bool  // for room, while the context ended
	cause  error // what it waited for, nil if that is not known
}

func (e *abandoned) Error() string {
	text := e.err.Error()
	if e.placed {
		text += ": the record has its place and may still be written"
	}
	if e.cause != nil {
		text += ": " + oneLine(e.cause.Error(), longestCause)
	}
	return text
}

func (e *abandoned) Unwrap() []error {
	if e.cause != nil {
		return []error{e.err, e.cause}
	}
	return []error{e.err}
}

// refusal is why a record found no place, with what is in the way of those before.
func (pr *Producer) refusal(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrBufferFull):
		return because(err, pr.obstacle())
	case errors.Is(err, errOver):
		return &abandoned{err: ctx.Err()}
	case ctx.Err() != nil && err == ctx.Err(): //nolint:errorlint // from the wait itself, not from what a lane died of
		return &abandoned{err: ctx.Err(), waited: true, cause: because(ErrBufferFull, pr.obstacle())}
	}
	return err
}

// obstacle is why the cluster, or one of its brokers, cannot be reached, nil if
// nothing is known to be in the way.
func (pr *Producer) obstacle() error {
	if err := pr.control.lastError(); err != nil {
		return err
	}
	for _, b := range *pr.senders.Load() {
		if err := b.lastError(); err != nil {
			return err
		}
	}
	return nil
}
