package producertest

import "github.com/twmb/franz-go/pkg/kmsg"

const clusterID = "producertest"

func (c *connection) metadata(q *kmsg.MetadataRequest) kmsg.Response {
	resp := q.ResponseKind().(*kmsg.MetadataResponse)
	resp.ClusterID = kmsg.StringPtr(clusterID)
	resp.ControllerID = c.broker.id
	for _, b := range c.cluster.brokers {
		e := kmsg.NewMetadataResponseBroker()
		e.NodeID, e.Host, e.Port = b.id, b.host, b.port
		resp.Brokers = append(resp.Brokers, e)
	}
	if q.Topics == nil || q.Version == 0 && len(q.Topics) == 0 {
		for _, t := range c.cluster.topics.all() {
			resp.Topics = append(resp.Topics, c.cluster.describeTopic(t))
		}
		return resp
	}
	create := q.Version < 4 || q.AllowAutoTopicCreation
	for i := range q.Topics {
		resp.Topics = append(resp.Topics, c.metadataTopic(&q.Topics[i], create))
	}
	return resp
}

func (c *connection) metadataTopic(q *kmsg.MetadataRequestTopic, create bool) kmsg.MetadataResponseTopic {
	name := ""
	if q.Topic != nil {
		name = *q.Topic
	}
	t := c.cluster.topics.find(name, q.TopicID)
	if n := c.cluster.cfg.AutoCreateTopics; t == nil && create && n > 0 && validTopic(name) {
		c.cluster.topics.create(name, n)
		t = c.cluster.topics.find(name, topicID{})
	}
	if t != nil {
		return c.cluster.describeTopic(t)
	}
	e := kmsg.NewMetadataResponseTopic()
	e.Topic, e.TopicID = q.Topic, q.TopicID
	switch {
	case q.Topic == nil:
		e.ErrorCode = codeUnknownTopicID
	case !validTopic(name):
		e.ErrorCode = codeInvalidTopic
	default:
		e.ErrorCode = codeUnknownTopic
	}
	return e
}

func (c *Cluster) describeTopic(t *topic) kmsg.MetadataResponseTopic {
	e := kmsg.NewMetadataResponseTopic()
	e.Topic, e.TopicID = kmsg.StringPtr(t.name), t.id
	for n, p := range t.partitions {
		mp := kmsg.NewMetadataResponseTopicPartition()
		mp.Partition = int32(n)
		mp.Leader, mp.LeaderEpoch = p.leadership()
		mp.Replicas, mp.ISR = c.brokerIDs(), c.brokerIDs()
		e.Partitions = append(e.Partitions, mp)
	}
	return e
}

func (c *Cluster) brokerIDs() []int32 {
	ids := make([]int32, len(c.brokers))
	for i := range ids {
		ids[i] = int32(i)
	}
	return ids
}
