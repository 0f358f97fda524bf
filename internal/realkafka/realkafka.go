// Package realkafka starts a real Apache Kafka for tests: KRaft, one node or
// three, on free loopback ports, stock or taught KIP-758 by a Java agent of
// ours. It needs Java 17 and Maven on the machine and fetches Kafka's jars
// through Maven once; they stay in the user's cache directory. No Docker.
//
// A test calls [Start]; tests of a package that share a cluster use [Shared].
// Its own tests pin what a real broker answers, so that a new Kafka version
// shows at once what changed.
package realkafka

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// KafkaVersion is the version of Apache Kafka that is started.
const KafkaVersion = "4.4.0"

// ErrUnavailable is what [Run] returns, wrapped with the reason, where Kafka
// cannot be had at all: no Java 17, no Maven, or Maven cannot reach the jars.
// A broker that was had and did not start is another error.
var ErrUnavailable = errors.New("realkafka: no Kafka on this machine")

// Config says which cluster to start. The zero value is one stock node.
type Config struct {
	// Nodes is the number of nodes, each broker and controller: 1 or 3. Zero
	// means 1.
	Nodes int

	// SequenceWindow is the number of sequences that the brokers remember of
	// each producer, as in KIP-758: 1 to 2^30. Zero starts stock brokers, which
	// know nothing of it.
	SequenceWindow int32

	// Properties are server properties set on every node, on top of what the
	// package sets and over it. Listeners, ids and directories are the
	// package's: setting them breaks the cluster.
	Properties map[string]string

	// Users are clients that may log in by SCRAM-SHA-256, name to password. They
	// are of use with Properties that make the CLIENT listener ask for it.
	Users map[string]string

	// Optimise is for benchmarks: the brokers' JVMs start slower, and serve
	// faster once they are warm.
	Optimise bool

	// Advertise is for a proxy in front of the nodes. It is called once for
	// each node, before any is started, with the address on which the node
	// will listen for clients, and returns the address that the node tells
	// clients to connect to. Nil: the address itself. The brokers talk among
	// themselves over another listener, so faults in the proxy are faults
	// between client and broker only.
	Advertise func(node int, addr string) string
}

func (c Config) nodes() int {
	if c.Nodes == 0 {
		return 1
	}
	return c.Nodes
}

func (c Config) validate() error {
	if n := c.nodes(); n != 1 && n != 3 {
		return fmt.Errorf("realkafka: %d nodes: can start 1 or 3", n)
	}
	if c.SequenceWindow < 0 || c.SequenceWindow > 1<<30 {
		return fmt.Errorf("realkafka: sequence window %d is not in 0..2^30", c.SequenceWindow)
	}
	return nil
}

// Start starts a cluster for one test and stops it when the test ends. Where
// Kafka is not to be had it skips the test and says why; with CI=true in the
// environment it fails the test instead. When the test fails, the brokers'
// logs are kept: where, and their last lines, are in the test's log.
func Start(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	c, err := Run(cfg)
	require(t, err)
	t.Cleanup(func() { closeIn(t, c) })
	c.explainFailure(t)
	return c
}

// require skips or fails t if err says that there is no cluster.
func require(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrUnavailable) && os.Getenv("CI") != "true":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

func closeIn(t testing.TB, c *Cluster) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
