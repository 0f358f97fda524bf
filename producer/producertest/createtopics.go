package producertest

import "github.com/twmb/franz-go/pkg/kmsg"

func (c *connection) createTopics(q *kmsg.CreateTopicsRequest) kmsg.Response {
	resp := q.ResponseKind().(*kmsg.CreateTopicsResponse)
	for i := range q.Topics {
		resp.Topics = append(resp.Topics, c.cluster.createTopic(&q.Topics[i], q.ValidateOnly))
	}
	return resp
}

func (c *Cluster) createTopic(q *kmsg.CreateTopicsRequestTopic, validateOnly bool) kmsg.CreateTopicsResponseTopic {
	e := kmsg.NewCreateTopicsResponseTopic()
	e.Topic = q.Topic
	partitions := q.NumPartitions
	switch {
	case len(q.ReplicaAssignment) > 0:
		partitions = int32(len(q.ReplicaAssignment))
	case partitions == -1: // the broker's default, num.partitions
		partitions = max(c.cfg.AutoCreateTopics, 1)
	}
	e.NumPartitions, e.ReplicationFactor = partitions, int16(len(c.brokers))
	switch {
	case !validTopic(q.Topic):
		e.ErrorCode = codeInvalidTopic
	case partitions < 1:
		e.ErrorCode = codeInvalidPartitions
	case validateOnly && c.topics.find(q.Topic, topicID{}) == nil:
	case validateOnly || c.topics.create(q.Topic, partitions) == nil:
		e.ErrorCode = codeTopicExists
	}
	if t := c.topics.find(q.Topic, topicID{}); t != nil && e.ErrorCode == codeNone {
		e.TopicID = t.id
	}
	return e
}
