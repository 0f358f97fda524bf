package sink

import (
	"encoding/binary"
	"net"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// windowTag is the tagged field that names the sequence window (KIP-758), an
// INT32 in network order.
const windowTag = 758

type versions struct{ key, lo, hi int16 }

// served is what is answered, and in which versions. Produce ends before topic
// IDs; all begin with what older clients still send.
var served = []versions{
	{int16(kmsg.Produce), 3, 12},
	{int16(kmsg.Metadata), 0, 12},
	{int16(kmsg.ApiVersions), 0, 4},
	{int16(kmsg.InitProducerID), 0, 5},
}

// announced is said to be answered, and is not: librdkafka takes a broker's
// message format and codecs from the versions of Fetch and FindCoordinator.
var announced = []versions{
	{int16(kmsg.Fetch), 4, 12},
	{int16(kmsg.FindCoordinator), 0, 3},
}

func serves(key, version int16) bool {
	for _, s := range served {
		if s.key == key {
			return version >= s.lo && version <= s.hi
		}
	}
	return false
}

// answer composes the response to anything but Produce, nil for what is not
// served.
func (b *Broker) answer(q kmsg.Request) kmsg.Response {
	switch q := q.(type) {
	case *kmsg.ApiVersionsRequest:
		return b.apiVersions(q)
	case *kmsg.MetadataRequest:
		return b.metadata(q)
	case *kmsg.InitProducerIDRequest:
		resp := q.ResponseKind().(*kmsg.InitProducerIDResponse)
		resp.ProducerID, resp.ProducerEpoch = b.producerIDs.Add(1), 0
		b.nameWindow(&resp.UnknownTags)
		return resp
	}
	return nil
}

func (b *Broker) apiVersions(q *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := q.ResponseKind().(*kmsg.ApiVersionsResponse)
	for _, s := range slices.Concat(served, announced) {
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MinVersion, k.MaxVersion = s.key, s.lo, s.hi
		resp.ApiKeys = append(resp.ApiKeys, k)
	}
	b.nameWindow(&resp.UnknownTags)
	return resp
}

func (b *Broker) nameWindow(tags *kmsg.Tags) {
	if b.cfg.Window > 0 {
		tags.Set(windowTag, binary.BigEndian.AppendUint32(nil, uint32(b.cfg.Window)))
	}
}

func (b *Broker) metadata(q *kmsg.MetadataRequest) kmsg.Response {
	resp := q.ResponseKind().(*kmsg.MetadataResponse)
	resp.ClusterID = kmsg.StringPtr("sink")
	for node, addr := range b.Addrs() {
		host, port, _ := net.SplitHostPort(addr)
		n, _ := strconv.Atoi(port)
		broker := kmsg.NewMetadataResponseBroker()
		broker.NodeID, broker.Host, broker.Port = int32(node), host, int32(n)
		resp.Brokers = append(resp.Brokers, broker)
	}
	if q.Topics == nil || (q.Version == 0 && len(q.Topics) == 0) { // all are asked for
		resp.Topics = append(resp.Topics, b.topic(Topic))
	}
	for _, t := range q.Topics {
		if t.Topic != nil {
			resp.Topics = append(resp.Topics, b.topic(*t.Topic))
		}
	}
	return resp
}

func (b *Broker) topic(name string) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.Topic = kmsg.StringPtr(name)
	copy(t.TopicID[:], name)
	for i := range b.cfg.Partitions {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = i, b.leader(i), 0
		p.Replicas, p.ISR = []int32{p.Leader}, []int32{p.Leader}
		t.Partitions = append(t.Partitions, p)
	}
	return t
}

func (b *Broker) leader(partition int32) int32 { return partition % int32(b.cfg.Brokers) }
