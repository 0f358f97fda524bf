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
	// 2.4 or older) holds no state of this producer id, see Decision.Gone.
	Forgotten
	// Fenced: this attempt is not in the log, because the broker has seen a
	// newer epoch of this producer id. Somebody else uses it, see Decision.Stop.
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

	// Stop says that somebody else has the producer ID: nothing more may be
	// sent under it, whatever became of this attempt.
	Stop bool

	// Gone says that the broker holds no state of the producer ID, whatever
	// became of this attempt. It might take for new what is sent again.
	Gone bool

	// NewID says that nothing can be written under the producer ID any more: the
	// broker, or a service in its place, does not map it, and refuses whatever
	// comes with it.
	NewID bool

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
// with an offset means that this attempt was appended, in whatever words the
// code says that it was not: it is Uncertain, and the same batch is sent again
// after a pause, for its success alone settles it. What the code says of the
// producer ID, see Stop and Gone, holds all the same.
//
// Codes that no broker is known to answer to a Produce, numbers without a
// name among them, are Uncertain too, since nothing says that they come from
// before the append. They get a few tries: the same sequences again are safe
// and may still end in a success.
func Classify(code Code, baseOffset int64) Decision {
	d := classify(code)
	if baseOffset >= 0 {
		return d.appended()
	}
	return d
}

// appended is d for an answer that says where the attempt was appended.
func (d Decision) appended() Decision {
	switch d.Fate {
	case Committed, Duplicate:
		return d
	case Refused:
		d.Tries = fewTries // a broker that says both will hardly change its mind
	}
	d.Fate, d.Split, d.Backoff = Uncertain, false, true
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
		return Decision{Fate: Fenced, Stop: true}
	case UnknownProducerID:
		return Decision{Fate: Forgotten, Gone: true, Backoff: true}
	case InvalidProducerIDMapping:
		return Decision{Fate: Forgotten, Gone: true, NewID: true, Backoff: true}

	// After the append, always or possibly: the broker waited for its replicas,
	// or stumbled at a point that it does not name.
	case RequestTimedOut, NotEnoughReplicasAfterAppend, UnknownServerError:
		return Decision{Fate: Uncertain, Backoff: true}
	case KafkaStorageError:
		return Decision{Fate: Uncertain, Refresh: true, Backoff: true}

	// The server disconnected before a response was received: clients say so of
	// a request that may have been executed, and a proxy says it of one that it
	// has passed on.
	case NetworkException:
		return Decision{Fate: Uncertain, Refresh: true, Backoff: true}

	// Codes of other requests, which pass with time. Brokers say "no coordinator"
	// and "not coordinator" of a coordinator's own write that was appended and not
	// replicated in time; quotas on bytes are counted when the bytes are there;
	// a controller, a transaction and a reader's offset are no matter of a plain
	// Produce. So none of them tells where in the work it came up.
	case CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator, NotController,
		ConcurrentTransactions, OffsetNotAvailable, ThrottlingQuotaExceeded:
		return Decision{Fate: Uncertain, Backoff: true}
	case ListenerNotFound:
		return Decision{Fate: Uncertain, Refresh: true, Backoff: true}

	// Before the append, if there is no base offset; another leader, or the
	// same one a little later, may take it. A broker looks for the partition, its
	// leader and the topic's ID before it looks at the batch. It may lose them
	// while it waits for replicas, and keeps the offset then.
	case NotLeaderOrFollower, UnknownTopicOrPartition, LeaderNotAvailable,
		ReplicaNotAvailable, FencedLeaderEpoch, UnknownLeaderEpoch,
		UnknownTopicID, InconsistentTopicID:
		return Decision{Fate: NotAppended, Refresh: true, Backoff: true}
	// So does it count the replicas in sync; once it has appended, the code is
	// NotEnoughReplicasAfterAppend.
	case NotEnoughReplicas:
		return Decision{Fate: NotAppended, Backoff: true}
	// The checksum is the first thing of a batch that is looked at.
	case CorruptMessage:
		return Decision{Fate: NotAppended, Backoff: true, Tries: fewTries}

	// Before the append, and for good: what they are about is looked at before.
	case MessageTooLarge, RecordListTooLarge:
		return Decision{Fate: Refused, Split: true}
	case InvalidRecord, InvalidTimestamp, UnsupportedForMessageFormat,
		UnsupportedCompressionType, PolicyViolation, InvalidTopic,
		InvalidRequiredAcks, TopicAuthorizationFailed,
		ClusterAuthorizationFailed, UnsupportedVersion, InvalidRequest,
		InvalidTxnState, TransactionAbortable:
		return Decision{Fate: Refused}
	}
	return Decision{Fate: Uncertain, Backoff: true, Tries: fewTries}
}
