package retry

// Fate is what an answer says about the one attempt that it answers. It says
// nothing about earlier attempts of the same batch: one of those may be in the
// log although this attempt was refused.
type Fate uint8

const (
	// Uncertain is the zero value: the attempt may be in the log, or may get
	// there later. Only a success of this or a later batch settles it.
	Uncertain Fate = iota
	// Committed: in the log and replicated as acks=all demands.
	Committed
	// Duplicate: the sequences of the batch were appended before. Not a proof
	// that they are committed, for the broker answers without waiting for
	// its replicas, and a batch that only it has may still be truncated.
	Duplicate
	// OutOfOrder: this attempt was not appended because the broker expects
	// another sequence. The usual echo behind a batch that failed (K01).
	OutOfOrder
	// NotAppended: this attempt is not in the log. Send the same again.
	NotAppended
	// Refused: this attempt is not in the log, and sending the same bytes
	// again will not help.
	Refused
	// Forgotten: this attempt is not in the log, because the broker (Kafka
	// 2.4 or older) holds no state of this producer id.
	Forgotten
	// Fenced: this attempt is not in the log, because the broker has seen a
	// newer epoch of this producer id. Somebody else uses it.
	Fenced
)

var fateNames = [...]string{
	Uncertain:   "uncertain",
	Committed:   "committed",
	Duplicate:   "duplicate",
	OutOfOrder:  "out of order",
	NotAppended: "not appended",
	Refused:     "refused",
	Forgotten:   "forgotten",
	Fenced:      "fenced",
}

// String returns the fate in lower case words.
func (f Fate) String() string {
	if int(f) < len(fateNames) {
		return fateNames[f]
	}
	return "uncertain"
}

// Decision is what to make of an answer. The zero value is the safe one:
// uncertain, nothing else.
type Decision struct {
	Fate Fate

	// Refresh asks for new metadata: the leader may have changed.
	Refresh bool

	// Backoff asks for a pause before the batch is sent again. A caller that
	// has learnt of a newer leader epoch meanwhile need not wait (KIP-951).
	Backoff bool

	// Split says that the batch is too large for the broker. A batch of more
	// than one record can be cut; a single record cannot be helped.
	Split bool

	// Tries is how often in a row a batch may get this answer before it is
	// given up. 0 leaves it to the delivery timeout. A batch given up counts
	// as Refused if its Fate is NotAppended, and stays Uncertain if it was.
	Tries uint8
}

// Count applies Tries: before is how many answers of that kind the batch had in a
// row, now is how many with this one. With the last one enough is true, and what
// would have been sent again is refused.
func (d Decision) Count(before uint8) (now uint8, fate Fate, enough bool) {
	if d.Tries == 0 {
		return 0, d.Fate, false
	}
	now, fate = before+1, d.Fate
	if enough = now >= d.Tries; enough && fate == NotAppended {
		fate = Refused
	}
	return now, fate, enough
}

// fewTries bounds the answers that are worth another attempt, since a bit may
// have flipped on the way or a broker may have stumbled, but not two minutes
// of attempts (K39).
const fewTries = 4

// Classify says what error code means in a Produce answer to an idempotent,
// non-transactional producer with acks=all. baseOffset is the one of the same
// answer, -1 if it has none.
//
// A broker reports most errors from before the append, but keeps the base
// offset when it loses the partition, or its replicas, after it. So an error
// with an offset means that this attempt was appended: it is Uncertain.
//
// Codes that no broker is known to answer to a Produce, numbers without a
// name among them, are Uncertain too, since nothing says that they come from
// before the append. They get a few tries: the same sequences again are safe
// and may still end in a success.
func Classify(code Code, baseOffset int64) Decision {
	d := classify(code)
	if d.Fate == NotAppended && baseOffset >= 0 {
		d.Fate = Uncertain
	}
	return d
}

// Lost says what is known of a request whose connection broke, timed out or
// was abandoned before its answer came. wrote is the number of bytes of that
// request that left the process: none, and no broker can ever have seen it.
func Lost(wrote int64) Decision {
	if wrote == 0 {
		return Decision{Fate: NotAppended, Refresh: true, Backoff: true}
	}
	return Decision{Fate: Uncertain, Refresh: true, Backoff: true}
}

func classify(code Code) Decision {
	switch code {
	case None:
		return Decision{Fate: Committed}
	case DuplicateSequenceNumber:
		return Decision{Fate: Duplicate}
	case OutOfOrderSequenceNumber:
		return Decision{Fate: OutOfOrder}
	case InvalidProducerEpoch, ProducerFenced:
		return Decision{Fate: Fenced}
	case UnknownProducerID:
		return Decision{Fate: Forgotten}

	// After the append, always or possibly.
	case RequestTimedOut, NotEnoughReplicasAfterAppend, UnknownServerError:
		return Decision{Fate: Uncertain, Backoff: true}
	case KafkaStorageError:
		return Decision{Fate: Uncertain, Refresh: true, Backoff: true}

	// Before the append, if there is no base offset; another leader, or the
	// same one a little later, may take it.
	case NotLeaderOrFollower, UnknownTopicOrPartition, LeaderNotAvailable,
		ReplicaNotAvailable, NetworkException, ListenerNotFound,
		FencedLeaderEpoch, UnknownLeaderEpoch:
		return Decision{Fate: NotAppended, Refresh: true, Backoff: true}
	case UnknownTopicID, InconsistentTopicID:
		return Decision{Fate: NotAppended, Refresh: true, Backoff: true}
	case NotEnoughReplicas, CoordinatorLoadInProgress, CoordinatorNotAvailable,
		NotCoordinator, NotController, ConcurrentTransactions,
		OffsetNotAvailable, ThrottlingQuotaExceeded:
		return Decision{Fate: NotAppended, Backoff: true}
	case CorruptMessage:
		return Decision{Fate: NotAppended, Backoff: true, Tries: fewTries}

	// Before the append, and for good.
	case MessageTooLarge, RecordListTooLarge:
		return Decision{Fate: Refused, Split: true}
	case InvalidRecord, InvalidTimestamp, UnsupportedForMessageFormat,
		UnsupportedCompressionType, PolicyViolation, InvalidTopic,
		InvalidRequiredAcks, TopicAuthorizationFailed,
		ClusterAuthorizationFailed, UnsupportedVersion, InvalidRequest,
		InvalidTxnState, InvalidProducerIDMapping, TransactionAbortable:
		return Decision{Fate: Refused}
	}
	return Decision{Fate: Uncertain, Backoff: true, Tries: fewTries}
}
