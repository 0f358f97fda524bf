package producertest

// Error codes of the Kafka protocol that a cluster answers by itself.
const (
	codeNone                 int16 = 0
	codeOffsetOutOfRange     int16 = 1
	codeCorruptMessage       int16 = 2
	codeUnknownTopic         int16 = 3
	codeNotLeader            int16 = 6
	codeMessageTooLarge      int16 = 10
	codeInvalidTopic         int16 = 17
	codeInvalidRequiredAcks  int16 = 21
	codeUnsupportedMechanism int16 = 33
	codeIllegalSASLState     int16 = 34
	codeUnsupportedVersion   int16 = 35
	codeTopicExists          int16 = 36
	codeInvalidPartitions    int16 = 37
	codeInvalidRequest       int16 = 42
	codeOutOfOrder           int16 = 45
	codeDuplicate            int16 = 46
	codeFenced               int16 = 47
	codeInvalidTxnState      int16 = 48
	codeNoTransactions       int16 = 53 // TRANSACTIONAL_ID_AUTHORIZATION_FAILED
	codeSASLFailed           int16 = 58
	codeFencedLeaderEpoch    int16 = 74
	codeUnknownLeaderEpoch   int16 = 75
	codeUnsupportedCodec     int16 = 76
	codeInvalidRecord        int16 = 87
	codeUnknownTopicID       int16 = 100
)
