package retry

import "strconv"

// Code is an error code of the Kafka protocol. It is an error and comparable,
// so that errors.Is(err, retry.NotLeaderOrFollower) finds it in a chain. None
// (0) is no error; whoever turns a code into an error asks for that first.
type Code int16

// The codes that a producer has something to say about.
const (
	UnknownServerError           Code = -1
	None                         Code = 0
	CorruptMessage               Code = 2
	UnknownTopicOrPartition      Code = 3
	LeaderNotAvailable           Code = 5
	NotLeaderOrFollower          Code = 6
	RequestTimedOut              Code = 7
	ReplicaNotAvailable          Code = 9
	MessageTooLarge              Code = 10
	NetworkException             Code = 13
	CoordinatorLoadInProgress    Code = 14
	CoordinatorNotAvailable      Code = 15
	NotCoordinator               Code = 16
	InvalidTopic                 Code = 17
	RecordListTooLarge           Code = 18
	NotEnoughReplicas            Code = 19
	NotEnoughReplicasAfterAppend Code = 20
	InvalidRequiredAcks          Code = 21
	TopicAuthorizationFailed     Code = 29
	ClusterAuthorizationFailed   Code = 31
	InvalidTimestamp             Code = 32
	UnsupportedSASLMechanism     Code = 33
	UnsupportedVersion           Code = 35
	NotController                Code = 41
	InvalidRequest               Code = 42
	UnsupportedForMessageFormat  Code = 43
	PolicyViolation              Code = 44
	OutOfOrderSequenceNumber     Code = 45
	DuplicateSequenceNumber      Code = 46
	InvalidProducerEpoch         Code = 47
	InvalidTxnState              Code = 48
	InvalidProducerIDMapping     Code = 49
	ConcurrentTransactions       Code = 51
	KafkaStorageError            Code = 56
	UnknownProducerID            Code = 59
	ListenerNotFound             Code = 72
	FencedLeaderEpoch            Code = 74
	UnknownLeaderEpoch           Code = 75
	UnsupportedCompressionType   Code = 76
	OffsetNotAvailable           Code = 78
	InvalidRecord                Code = 87
	ThrottlingQuotaExceeded      Code = 89
	ProducerFenced               Code = 90
	UnknownTopicID               Code = 100
	InconsistentTopicID          Code = 103
	TransactionAbortable         Code = 120
	RebootstrapRequired          Code = 129
)

// Name returns the name that the Kafka protocol gives the code, "" for a
// number that has none.
func (c Code) Name() string { return c.entry().name }

// Error returns the name and number of the code and, where a producer may meet
// it, what it means. A number without a name is shown as it came.
func (c Code) Error() string {
	e := c.entry()
	text := e.name
	if text == "" {
		text = "unknown error code"
	}
	text += " (" + strconv.Itoa(int(c)) + ")"
	if e.meaning != "" {
		text += ": " + e.meaning
	}
	return text
}

func (c Code) entry() codeEntry {
	if i := int(c) + 1; i >= 0 && i < len(codeTable) {
		return codeTable[i]
	}
	return codeEntry{}
}
