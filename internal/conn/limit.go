package conn

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A response is refused by the size that it claims, before it is read. So the
// limit must be one that no honest broker exceeds: it grows with what was asked.
const (
	commonLimit = 1 << 20

	// A batch is refused with its own text, and each record in it with another
	// one (KIP-467). Brokers write sentences with a topic's name and some numbers.
	perPartition = 4 << 10
	perRecord    = 1 << 10

	// Some 40 bytes for each partition with three replicas.
	metadataLimit = 32 << 20
	perTopic      = 8 << 10

	// Of a log one batch comes whole, however few bytes were asked for.
	fetchLimit = 32 << 20

	// Some 40 bytes for each producer that wrote of late, to any of the partitions:
	// as many as fit are asked about.
	describeLimit = 32 << 20

	versionsLimit = 256 << 10

	// A few fields, and one text: a token has 64 KiB at most, an error less.
	smallLimit = 128 << 10
)

// ProduceLimit is the largest answer, in bytes, to a Produce request with so many
// partitions and records that makes sense.
func ProduceLimit(partitions, records int) int {
	limit := commonLimit + int64(partitions)*perPartition + int64(records)*perRecord
	return int(min(limit, math.MaxInt32-correlationBytes))
}

// Limit is the same for any other request. Above it lies no cluster but a hostile
// or broken peer.
func Limit(req kmsg.Request) int {
	switch req.Key() {
	case apiVersionsKey:
		return versionsLimit
	case metadataKey:
		topics := 0
		if r, ok := req.(*kmsg.MetadataRequest); ok {
			topics = len(r.Topics)
		}
		return metadataLimit + topics*perTopic
	case fetchKey:
		return fetchLimit
	case describeProdKey:
		return describeLimit
	case saslHandshakeKey, saslAuthenticateKey, initProducerIDKey:
		return smallLimit
	}
	return commonLimit
}
