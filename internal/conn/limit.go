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

	// Some 40 bytes for each producer that wrote of late.
	describeLimit = 16 << 20
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
	switch r := req.(type) {
	case *kmsg.ApiVersionsRequest:
		return 256 << 10
	case *kmsg.MetadataRequest:
		return metadataLimit + len(r.Topics)*perTopic
	case *kmsg.FetchRequest:
		return fetchLimit
	case *kmsg.DescribeProducersRequest:
		return describeLimit
	}
	return commonLimit
}
