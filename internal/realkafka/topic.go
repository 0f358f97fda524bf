package realkafka

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicTimeout bounds CreateTopic.
const topicTimeout = time.Minute

// pollInterval is how often a broker is asked whether it has got somewhere.
const pollInterval = 20 * time.Millisecond

// Versions that every Kafka 4 speaks.
const (
	createTopicsVersion = 7
	metadataVersion     = 12
	listOffsetsVersion  = 7
)

// CreateTopic creates a topic with the given number of partitions and replicas
// and with topic configs (nil: none), and returns when all running nodes know
// it and the leader of each partition serves it. An error, if the topic exists
// or is not served within a minute. All nodes must be awake.
func (c *Cluster) CreateTopic(name string, partitions int32, replication int16, configs map[string]string) error {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic = name
	topic.NumPartitions = partitions
	topic.ReplicationFactor = replication
	for _, key := range slices.Sorted(maps.Keys(configs)) {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = key, kmsg.StringPtr(configs[key])
		topic.Configs = append(topic.Configs, config)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(createTopicsVersion)
	req.TimeoutMillis = int32(topicTimeout.Milliseconds())
	req.Topics = append(req.Topics, topic)

	running := c.running()
	if len(running) == 0 {
		return errors.New("realkafka: create topic: no node runs")
	}
	resp, err := ask[*kmsg.CreateTopicsResponse](running[0].client, req)
	if err != nil {
		return fmt.Errorf("realkafka: create topic %s: %w", name, err)
	}
	if err := codeError(resp.Topics[0].ErrorCode, resp.Topics[0].ErrorMessage); err != nil {
		return fmt.Errorf("realkafka: create topic %s: %w", name, err)
	}
	return c.awaitTopic(name, partitions)
}

func (c *Cluster) running() []*node {
	return slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool { return !n.running() })
}

func (c *Cluster) awaitTopic(name string, partitions int32) error {
	if err := poll(topicTimeout, func() error { return c.topicServed(name, partitions) }); err != nil {
		return fmt.Errorf("realkafka: topic %s is not served: %w", name, err)
	}
	return nil
}

// topicServed says what is missing until the topic can be used on every node.
func (c *Cluster) topicServed(name string, partitions int32) error {
	for _, n := range c.running() {
		leaders, err := n.leaders(name)
		if err != nil {
			return fmt.Errorf("node %d: %w", n.id, err)
		}
		if len(leaders) != int(partitions) {
			return fmt.Errorf("node %d knows %d partitions", n.id, len(leaders))
		}
		// A leader is known before it knows itself, and only one that does
		// tells where its log ends.
		for partition, leader := range leaders {
			if _, err := c.nodes[leader].endOffset(name, partition); err != nil {
				return fmt.Errorf("node %d, partition %d: %w", leader, partition, err)
			}
		}
	}
	return nil
}

// leaders returns the leader of each partition as this node knows it.
func (n *node) leaders(topic string) (map[int32]int32, error) {
	partitions, err := n.partitions(topic)
	if err != nil {
		return nil, err
	}
	leaders := make(map[int32]int32)
	for _, p := range partitions {
		if err := codeError(p.ErrorCode, nil); err != nil {
			return nil, fmt.Errorf("partition %d: %w", p.Partition, err)
		}
		leaders[p.Partition] = p.Leader
	}
	return leaders, nil
}

// endOffset returns the high watermark of a partition that this node leads.
func (n *node) endOffset(topic string, partition int32) (int64, error) {
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition = partition
	p.Timestamp = -1 // the end
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	t.Partitions = append(t.Partitions, p)
	req := kmsg.NewPtrListOffsetsRequest()
	req.SetVersion(listOffsetsVersion)
	req.ReplicaID = -1
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.ListOffsetsResponse](n.client, req)
	if err != nil {
		return 0, err
	}
	answer := resp.Topics[0].Partitions[0]
	return answer.Offset, codeError(answer.ErrorCode, nil)
}

// codeError makes an error of Kafka's error code, nil of 0.
func codeError(code int16, message *string) error {
	switch {
	case code == 0:
		return nil
	case message == nil:
		return fmt.Errorf("error code %d", code)
	default:
		return fmt.Errorf("error code %d: %s", code, *message)
	}
}
