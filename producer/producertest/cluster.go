package producertest

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
)

// Cluster is a running Kafka cluster. All its methods may be called
// concurrently, and by hooks; only Close must not be called by a hook.
type Cluster struct {
	cfg     Config
	brokers []*broker
	topics  *topics
	watch   *watch
	hooks   hooks

	done    chan struct{} // closed by Close
	closing sync.Once
	running sync.WaitGroup

	producerIDs atomic.Int64
	connections atomic.Int64
}

// New starts a cluster. The error lists everything that is wrong with the
// configuration, or says why no socket could be opened. Close ends it.
func New(cfg Config) (*Cluster, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		cfg:    cfg,
		topics: newTopics(int32(cfg.Brokers), cfg.partitionRules()),
		watch:  newWatch(),
		done:   make(chan struct{}),
	}
	for name, partitions := range cfg.Topics {
		c.topics.create(name, partitions)
	}
	for id := range int32(cfg.Brokers) {
		b, err := newBroker(c, id)
		if err != nil {
			c.Close()
			return nil, err
		}
		c.brokers = append(c.brokers, b)
	}
	for _, b := range c.brokers { // once all are there: connections read the list
		if b.listener != nil {
			c.running.Go(b.accept)
		}
	}
	return c, nil
}

// Close ends all connections and waits until nothing of the cluster runs any
// more. Requests that are held are not executed. The log and the violations
// can still be read. It may be called more than once.
func (c *Cluster) Close() {
	c.closing.Do(func() {
		c.watch.settle()
		close(c.done)
		for _, b := range c.brokers {
			b.close()
		}
	})
	c.running.Wait()
}

// Addrs are the addresses of the brokers, "host:port", in the order of their
// node IDs. In memory they mean something to Dial only.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.brokers))
	for i, b := range c.brokers {
		addrs[i] = net.JoinHostPort(b.host, strconv.Itoa(int(b.port)))
	}
	return addrs
}

// Dial connects to a broker of the cluster by its address; it has the form
// that clients want of a dialer. With Config.InMemory it is the only way in,
// otherwise it is that of a net.Dialer. It does not speak TLS.
func (c *Cluster) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if !c.cfg.InMemory {
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, a := range c.Addrs() {
		if a == addr {
			return c.brokers[i].dialed()
		}
	}
	return nil, &net.OpError{Op: "dial", Net: network, Addr: memAddr(addr), Err: syscall.ECONNREFUSED}
}

// broker returns the broker with a node ID.
func (c *Cluster) broker(id int32) (*broker, error) {
	if id < 0 || int(id) >= len(c.brokers) {
		return nil, fmt.Errorf("producertest: no broker %d", id)
	}
	return c.brokers[id], nil
}

// partition returns a partition by topic name and number.
func (c *Cluster) partition(topic string, n int32) (*partition, error) {
	t, err := c.topics.named(topic)
	if err != nil {
		return nil, err
	}
	if p := t.partition(n); p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("producertest: no partition %d in topic %q", n, topic)
}
