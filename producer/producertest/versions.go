package producertest

import "github.com/twmb/franz-go/pkg/kmsg"

// Keys of the requests that a cluster serves.
const (
	keyProduce           int16 = 0
	keyFetch             int16 = 1
	keyListOffsets       int16 = 2
	keyMetadata          int16 = 3
	keySASLHandshake     int16 = 17
	keyApiVersions       int16 = 18
	keyCreateTopics      int16 = 19
	keyInitProducerID    int16 = 22
	keyOffsetForLeader   int16 = 23
	keySASLAuthenticate  int16 = 36
	keyDescribeProducers int16 = 61
)

// served is what a cluster serves at all, with the lowest and highest version.
var served = []struct{ key, lo, hi int16 }{
	{keyProduce, 3, 13},
	{keyFetch, 4, 16},
	{keyListOffsets, 1, 8},
	{keyMetadata, 0, 13},
	{keySASLHandshake, 1, 1},
	{keyApiVersions, 0, 4},
	{keyCreateTopics, 2, 7},
	{keyInitProducerID, 0, 5},
	{keyOffsetForLeader, 2, 4},
	{keySASLAuthenticate, 0, 2},
	{keyDescribeProducers, 0, 0},
}

// versions are the versions of a request that this cluster offers; (0, -1) for
// one it does not.
func (c *Cluster) versions(key int16) (lo, hi int16) {
	for _, s := range served {
		if s.key != key {
			continue
		}
		hi := s.hi
		if limit, ok := c.cfg.MaxVersions[key]; ok {
			hi = min(hi, limit)
		}
		return s.lo, hi
	}
	return 0, -1
}

// serve answers one request. A nil response is not sent; false ends the
// connection.
func (c *connection) serve(r *request) (kmsg.Response, bool) {
	if r.body == nil {
		if r.key == keyApiVersions {
			return c.unsupportedApiVersions(), true
		}
		return nil, false
	}
	if !c.auth.allows(r.key) {
		return nil, false
	}
	switch q := r.body.(type) {
	case *kmsg.ProduceRequest:
		return c.produce(r.produce)
	case *kmsg.FetchRequest:
		return c.fetch(q), true
	case *kmsg.ListOffsetsRequest:
		return c.listOffsets(q), true
	case *kmsg.MetadataRequest:
		return c.metadata(q), true
	case *kmsg.ApiVersionsRequest:
		return c.apiVersions(q), true
	case *kmsg.InitProducerIDRequest:
		return c.initProducerID(q), true
	case *kmsg.OffsetForLeaderEpochRequest:
		return c.offsetForLeaderEpoch(q), true
	case *kmsg.DescribeProducersRequest:
		return c.describeProducers(q), true
	case *kmsg.CreateTopicsRequest:
		return c.createTopics(q), true
	case *kmsg.SASLHandshakeRequest:
		return c.saslHandshake(q)
	case *kmsg.SASLAuthenticateRequest:
		return c.saslAuthenticate(q)
	}
	return nil, false
}
