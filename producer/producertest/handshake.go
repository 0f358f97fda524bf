package producertest

import (
	"encoding/binary"
	"regexp"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// windowTag is the tagged field that names the sequence window of a KIP-758
// broker, an INT32 in network order. The KIP does not say which response
// carries it; these are the two that a producer asks for anyway.
const windowTag = 758

// softwareName is the form that KIP-511 wants of a client's name and version.
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func (c *connection) apiVersions(q *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := q.ResponseKind().(*kmsg.ApiVersionsResponse)
	if q.Version >= 3 && !(softwareName.MatchString(q.ClientSoftwareName) && softwareName.MatchString(q.ClientSoftwareVersion)) {
		resp.ErrorCode = codeInvalidRequest
		return resp
	}
	for _, s := range served {
		if lo, hi := c.cluster.versions(s.key); hi >= lo {
			resp.ApiKeys = append(resp.ApiKeys, apiKey(s.key, lo, hi))
		}
	}
	c.nameWindow(&resp.UnknownTags)
	return resp
}

// unsupportedApiVersions answers a version that is not known here: always in
// version 0, with the versions of this one request (KIP-511).
func (c *connection) unsupportedApiVersions() kmsg.Response {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = codeUnsupportedVersion
	if lo, hi := c.cluster.versions(keyApiVersions); hi >= lo {
		resp.ApiKeys = append(resp.ApiKeys, apiKey(keyApiVersions, lo, hi))
	}
	return resp
}

func apiKey(key, lo, hi int16) kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = key, lo, hi
	return k
}

// nameWindow adds the broker's window, if it has one. Versions without tagged
// fields leave it out by themselves.
func (c *connection) nameWindow(tags *kmsg.Tags) {
	if c.broker.window > 0 {
		tags.Set(windowTag, binary.BigEndian.AppendUint32(nil, uint32(c.broker.window)))
	}
}

// namedWindow is the window that a client takes from an ApiVersions response, 0
// if none or not a valid one.
func namedWindow(m *kmsg.ApiVersionsResponse) int32 {
	if m.Version < 3 {
		return 0
	}
	window := int32(0)
	m.UnknownTags.Each(func(tag uint32, v []byte) {
		if tag != windowTag || len(v) != 4 {
			return
		}
		if w := int32(binary.BigEndian.Uint32(v)); w > 0 && w <= maxWindow {
			window = w
		}
	})
	return window
}

func (c *connection) initProducerID(q *kmsg.InitProducerIDRequest) kmsg.Response {
	resp := q.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	c.nameWindow(&resp.UnknownTags)
	switch {
	case q.TransactionalID != nil:
		resp.ErrorCode = codeNoTransactions
	case q.Version >= 3 && (q.ProducerID == -1) != (q.ProducerEpoch == -1):
		resp.ErrorCode = codeInvalidRequest
	default:
		// Whatever ID was given, a non-transactional producer gets a new one.
		resp.ProducerID, resp.ProducerEpoch = c.cluster.producerIDs.Add(1)-1, 0
	}
	return resp
}
