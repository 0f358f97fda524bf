package realkafka

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// Cluster is a running Kafka cluster. Its methods may be called concurrently,
// from any goroutine; what is asked of one node happens one after another.
// Nodes are numbered from 0, and the number is the node id in Kafka too.
type Cluster struct {
	dir   string // holds a directory for each node
	nodes []*node

	mu       sync.Mutex
	keepLogs bool
}

// Run starts a cluster that belongs to no test and returns once every node
// serves. The caller closes it. A broker that does not start within two
// minutes is an error that holds the end of its log.
func Run(cfg Config) (*Cluster, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	java, err := prepare(cfg.SequenceWindow, cfg.Optimise)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sluice-realkafka-")
	if err != nil {
		return nil, fmt.Errorf("realkafka: %w", err)
	}
	c := &Cluster{dir: dir}
	if err := c.start(cfg, java); err != nil {
		c.setKeepLogs()
		return nil, errors.Join(fmt.Errorf("%w\nlogs kept in %s", err, dir), c.Close())
	}
	return c, nil
}

func (c *Cluster) start(cfg Config, java javaCommand) error {
	var err error
	if c.nodes, err = layOut(c.dir, cfg, java); err != nil {
		return err
	}
	clusterID := newClusterID()
	err = c.each(func(n *node) error { return n.format(clusterID, cfg.Users) })
	if err != nil {
		return err
	}
	return c.each((*node).start)
}

// each runs f for all nodes at once: a node of three waits for a second one
// before it serves.
func (c *Cluster) each(f func(*node) error) error { return forNodes(c.nodes, f) }

func forNodes(nodes []*node, f func(*node) error) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = f(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// newClusterID returns 16 random bytes as Kafka writes them. A leading dash
// would be taken for an option by the tool that formats the storage.
func newClusterID() string {
	var id [16]byte
	rand.Read(id[:])
	return "S" + base64.RawURLEncoding.EncodeToString(id[:])[1:]
}

// Addrs returns the bootstrap addresses, one a node, as advertised to clients.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		addrs[i] = n.advertised
	}
	return addrs
}

// ListenAddr returns the address on which a node listens for clients: behind
// the proxy, if there is one.
func (c *Cluster) ListenAddr(node int) string { return c.nodes[node].client }

// Kill ends a node at once, as a crash does (SIGKILL), and returns when it is
// gone. What it has written to its log stays written: the machine did not fail.
// No error if the node does not run.
func (c *Cluster) Kill(node int) error { return c.nodes[node].kill() }

// Stop shuts a node down cleanly (SIGTERM) and returns when it is gone: its
// leaderships moved if others can take them, producer state in snapshots. A
// paused node is resumed first. The last of three nodes has no majority to hand
// over to and does not go: after a minute it is killed, and that is an error.
func (c *Cluster) Stop(node int) error { return c.nodes[node].stop() }

// Pause suspends a node (SIGSTOP) and returns when it has come to rest: its
// connections stay open, nothing is answered, its clock runs on. No error if it
// is paused already.
func (c *Cluster) Pause(node int) error { return c.nodes[node].pause() }

// Resume lets a paused node run again (SIGCONT). No error if it runs.
func (c *Cluster) Resume(node int) error { return c.nodes[node].resume() }

// Restart starts nodes that were stopped or killed again, on the same ports
// and data, and returns when all of them serve. Where two of three nodes are
// down, name both in one call: neither serves before the other runs. A node
// that was killed is let in again when its session with the controller has run
// out, by default after 9 s (broker.session.timeout.ms), in a cluster of three.
// A partition may still take a moment to be led.
func (c *Cluster) Restart(nodes ...int) error {
	starting := make([]*node, len(nodes))
	for i, id := range nodes {
		starting[i] = c.nodes[id]
	}
	return forNodes(starting, (*node).start)
}

// Close kills all nodes and removes their data. Their logs stay if a test that
// used the cluster failed. A second call does nothing.
func (c *Cluster) Close() error {
	err := c.each((*node).kill)
	c.mu.Lock()
	keep := c.keepLogs
	c.mu.Unlock()
	if keep {
		return errors.Join(err, c.each((*node).removeData))
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

func (c *Cluster) setKeepLogs() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepLogs = true
}

// explainFailure keeps the logs if t fails and shows where they are.
func (c *Cluster) explainFailure(t testing.TB) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		c.setKeepLogs()
		var text strings.Builder
		for _, n := range c.nodes {
			fmt.Fprintf(&text, "\n%s ends:\n%s", n.logPath(), n.logTail())
		}
		t.Logf("realkafka: broker logs kept in %s%s", c.dir, text.String())
	})
}
