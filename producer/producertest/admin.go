package producertest

import "fmt"

// CreateTopic creates a topic. It is an error if it exists, or has a name that
// Kafka does not allow.
func (c *Cluster) CreateTopic(name string, partitions int32) error {
	if !validTopic(name) || partitions < 1 {
		return fmt.Errorf("producertest: topic %q with %d partitions", name, partitions)
	}
	if c.topics.create(name, partitions) == nil {
		return fmt.Errorf("producertest: topic %q exists", name)
	}
	return nil
}

// DeleteTopic deletes a topic with its log. A topic of that name created later
// has another topic ID, leader epoch 0 and an empty log.
func (c *Cluster) DeleteTopic(name string) error {
	t := c.topics.remove(name)
	if t == nil {
		return fmt.Errorf("producertest: no topic %q", name)
	}
	for _, p := range t.partitions {
		p.mu.Lock()
		p.wake()
		p.mu.Unlock()
	}
	return nil
}

// AddPartitions adds partitions to a topic.
func (c *Cluster) AddPartitions(topic string, add int32) error {
	if add < 0 || !c.topics.addPartitions(topic, add) {
		return fmt.Errorf("producertest: no topic %q to add %d partitions to", topic, add)
	}
	return nil
}

// Leader returns the leader of a partition and its leader epoch.
func (c *Cluster) Leader(topic string, partition int32) (broker, epoch int32, err error) {
	p, err := c.partition(topic, partition)
	if err != nil {
		return -1, -1, err
	}
	broker, epoch = p.leadership()
	return broker, epoch, nil
}

// MoveLeader makes a broker the leader of a partition, in the next leader epoch.
// Log and producer state go with it, as if replicated. Naming the present
// leader only begins a leader epoch.
func (c *Cluster) MoveLeader(topic string, partition, broker int32) error {
	p, err := c.partition(topic, partition)
	if err != nil {
		return err
	}
	if _, err := c.broker(broker); err != nil {
		return err
	}
	p.move(broker)
	return nil
}

// ForgetProducers makes a partition forget the state of all producers, as after
// producer.id.expiration.ms.
func (c *Cluster) ForgetProducers(topic string, partition int32) error {
	p, err := c.partition(topic, partition)
	if err != nil {
		return err
	}
	p.forgetProducers()
	return nil
}

// CutConnections resets all connections of a broker. The request being served
// on each is finished, without an answer; those behind it are lost.
func (c *Cluster) CutConnections(broker int32) error {
	b, err := c.broker(broker)
	if err != nil {
		return err
	}
	b.cut()
	return nil
}

// Restart is a clean and fast restart of a broker: its connections end, and of
// what it remembers of the producers in the partitions it leads only the latest
// batch is left, which is all that Kafka's snapshot files keep. Leaders stay.
func (c *Cluster) Restart(broker int32) error {
	if err := c.Stop(broker); err != nil {
		return err
	}
	return c.Start(broker)
}

// Stop ends the connections of a broker and refuses new ones, until Start.
// Metadata goes on naming it, as right after a sudden death.
func (c *Cluster) Stop(broker int32) error {
	b, err := c.broker(broker)
	if err != nil {
		return err
	}
	b.stop()
	for _, t := range c.topics.all() {
		for _, p := range t.partitions {
			p.reload(broker)
		}
	}
	return nil
}

// Start lets a stopped broker take connections again.
func (c *Cluster) Start(broker int32) error {
	b, err := c.broker(broker)
	if err != nil {
		return err
	}
	b.start()
	return nil
}
