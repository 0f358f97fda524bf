package realkafka

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Versions that every Kafka 4 speaks.
const (
	reassignVersion          = 0
	electVersion             = 2
	describeProducersVersion = 0
	alterConfigsVersion      = 1
)

// electionNotNeeded is the answer if the preferred replica leads already.
const electionNotNeeded = 84

// Leaders returns the node that leads each partition of a topic, -1 if none
// does, as a node that is awake knows it; another one may know better.
func (c *Cluster) Leaders(topic string) (map[int32]int, error) {
	n, err := c.awake()
	if err != nil {
		return nil, err
	}
	partitions, err := n.partitions(topic)
	if err != nil {
		return nil, fmt.Errorf("realkafka: leaders of %s: %w", topic, err)
	}
	leaders := make(map[int32]int)
	for _, p := range partitions {
		leaders[p.Partition] = int(p.Leader)
	}
	return leaders, nil
}

// awake returns a node that runs and is not paused.
func (c *Cluster) awake() (*node, error) {
	for _, n := range c.running() {
		if !n.sleeping() {
			return n, nil
		}
	}
	return nil, errors.New("realkafka: no node is awake")
}

func (n *node) partitions(topic string) ([]kmsg.MetadataResponseTopicPartition, error) {
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(metadataVersion)
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.MetadataResponse](n.client, req)
	if err != nil {
		return nil, err
	}
	return resp.Topics[0].Partitions, codeError(resp.Topics[0].ErrorCode, nil)
}

// MoveLeader makes a node the preferred leader of a partition of which it has a
// replica, has it elected, and returns when that is done. An error if the node
// is not in sync and does not get there within a minute.
func (c *Cluster) MoveLeader(topic string, partition int32, node int) error {
	err := poll(topicTimeout, func() error { return c.tryMove(topic, partition, int32(node)) })
	if err != nil {
		return fmt.Errorf("realkafka: move the leader of %s/%d to node %d: %w", topic, partition, node, err)
	}
	return nil
}

func (c *Cluster) tryMove(topic string, partition, node int32) error {
	asked, err := c.awake()
	if err != nil {
		return err
	}
	partitions, err := asked.partitions(topic)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(partitions, func(p kmsg.MetadataResponseTopicPartition) bool { return p.Partition == partition })
	if i < 0 || !slices.Contains(partitions[i].Replicas, node) {
		return errors.New("the node has no replica of it")
	}
	if partitions[i].Leader == node {
		return nil
	}
	if partitions[i].Replicas[0] != node {
		others := slices.DeleteFunc(slices.Clone(partitions[i].Replicas), func(id int32) bool { return id == node })
		if err := asked.reassign(topic, partition, append([]int32{node}, others...)); err != nil {
			return err
		}
	}
	if err := asked.elect(topic, partition); err != nil {
		return err
	}
	return errors.New("the election is not known everywhere")
}

// reassign sets the replicas of a partition, the preferred leader first.
func (n *node) reassign(topic string, partition int32, replicas []int32) error {
	p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	p.Partition, p.Replicas = partition, replicas
	t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	t.Topic = topic
	t.Partitions = append(t.Partitions, p)
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.SetVersion(reassignVersion)
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.AlterPartitionAssignmentsResponse](n.client, req)
	if err != nil {
		return err
	}
	if err := codeError(resp.ErrorCode, resp.ErrorMessage); err != nil {
		return fmt.Errorf("reassign: %w", err)
	}
	answer := resp.Topics[0].Partitions[0]
	return codeError(answer.ErrorCode, answer.ErrorMessage)
}

// elect has the preferred leader of a partition elected.
func (n *node) elect(topic string, partition int32) error {
	t := kmsg.NewElectLeadersRequestTopic()
	t.Topic, t.Partitions = topic, []int32{partition}
	req := kmsg.NewPtrElectLeadersRequest()
	req.SetVersion(electVersion)
	req.TimeoutMillis = int32(topicTimeout.Milliseconds())
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.ElectLeadersResponse](n.client, req)
	if err != nil {
		return err
	}
	if err := codeError(resp.ErrorCode, nil); err != nil {
		return fmt.Errorf("elect: %w", err)
	}
	answer := resp.Topics[0].Partitions[0]
	if answer.ErrorCode == electionNotNeeded {
		return nil
	}
	return codeError(answer.ErrorCode, answer.ErrorMessage)
}

// Producers returns how many producers the leader of a partition remembers.
func (c *Cluster) Producers(topic string, partition int32) (int, error) {
	leaders, err := c.Leaders(topic)
	if err != nil {
		return 0, err
	}
	leader := leaders[partition]
	if leader < 0 {
		return 0, fmt.Errorf("realkafka: %s/%d has no leader", topic, partition)
	}
	answer, err := c.nodes[leader].describe(topic, partition)
	if err == nil {
		err = codeError(answer.ErrorCode, answer.ErrorMessage)
	}
	if err != nil {
		return 0, fmt.Errorf("realkafka: producers of %s/%d: %w", topic, partition, err)
	}
	return len(answer.ActiveProducers), nil
}

func (n *node) describe(topic string, partition int32) (answer kmsg.DescribeProducersResponseTopicPartition, err error) {
	t := kmsg.NewDescribeProducersRequestTopic()
	t.Topic, t.Partitions = topic, []int32{partition}
	req := kmsg.NewPtrDescribeProducersRequest()
	req.SetVersion(describeProducersVersion)
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.DescribeProducersResponse](n.client, req)
	if err != nil {
		return answer, err
	}
	return resp.Topics[0].Partitions[0], nil
}

// SetProperty changes a server property of all nodes while they run. Nodes that
// start later have it, too. It is for properties that Kafka calls cluster-wide
// and dynamic.
func (c *Cluster) SetProperty(key, value string) error {
	n, err := c.awake()
	if err != nil {
		return err
	}
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = key, kmsg.StringPtr(value)
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType = kmsg.ConfigResourceTypeBroker // of no name: all of them
	resource.Configs = append(resource.Configs, config)
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.SetVersion(alterConfigsVersion)
	req.Resources = append(req.Resources, resource)
	resp, err := ask[*kmsg.IncrementalAlterConfigsResponse](n.client, req)
	if err == nil {
		err = codeError(resp.Resources[0].ErrorCode, resp.Resources[0].ErrorMessage)
	}
	if err != nil {
		return fmt.Errorf("realkafka: set %s: %w", key, err)
	}
	return nil
}

// poll calls try until it succeeds; after the timeout its last error is returned.
func poll(timeout time.Duration, try func() error) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	deadline := time.After(timeout)
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("not within %v: %w", timeout, err)
		}
	}
}
