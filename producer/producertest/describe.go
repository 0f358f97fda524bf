package producertest

import "github.com/twmb/franz-go/pkg/kmsg"

// describeProducers answers on any broker, since each holds a replica of
// everything; so do Kafka's followers and deposed leaders (KIP-664).
func (c *connection) describeProducers(q *kmsg.DescribeProducersRequest) kmsg.Response {
	resp := q.ResponseKind().(*kmsg.DescribeProducersResponse)
	for _, qt := range q.Topics {
		t := kmsg.NewDescribeProducersResponseTopic()
		t.Topic = qt.Topic
		topic := c.cluster.topics.find(qt.Topic, topicID{})
		for _, n := range qt.Partitions {
			e := kmsg.NewDescribeProducersResponseTopicPartition()
			e.Partition = n
			if p := topic.partition(n); p != nil {
				e.ActiveProducers = p.activeProducers()
				c.cluster.watch.told(topic.id, n, e.ActiveProducers)
			} else {
				e.ErrorCode = codeUnknownTopic
			}
			t.Partitions = append(t.Partitions, e)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func (p *partition) activeProducers() []kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	all := []kmsg.DescribeProducersResponseTopicPartitionActiveProducer{}
	p.describe(func(id int64, pr *producer) {
		a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		epoch, _ := pr.model.Known()
		a.ProducerID, a.ProducerEpoch = id, int32(epoch)
		a.LastSequence, a.LastTimestamp = pr.model.Last(), pr.lastTimestamp
		a.CoordinatorEpoch, a.CurrentTxnStartOffset = -1, -1
		all = append(all, a)
	})
	return all
}
