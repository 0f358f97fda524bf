package realkafka

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// layOut gives each node its ports and its directory with the properties file.
func layOut(dir string, cfg Config, java javaCommand) ([]*node, error) {
	const ports = 3 // for clients, brokers and controllers
	addrs, err := freeAddrs(ports * cfg.nodes())
	if err != nil {
		return nil, err
	}
	nodes := make([]*node, cfg.nodes())
	for i := range nodes {
		n := &node{
			id:         i,
			dir:        filepath.Join(dir, "node"+strconv.Itoa(i)),
			java:       java,
			client:     addrs[ports*i],
			internal:   addrs[ports*i+1],
			controller: addrs[ports*i+2],
		}
		n.advertised = n.client
		if cfg.Advertise != nil {
			n.advertised = cfg.Advertise(i, n.client)
		}
		nodes[i] = n
	}
	for _, n := range nodes {
		if err := os.MkdirAll(n.dir, 0o755); err != nil {
			return nil, fmt.Errorf("realkafka: %w", err)
		}
		text := propertiesText(serverProperties(n, nodes, cfg.Properties))
		if err := os.WriteFile(n.configPath(), []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("realkafka: %w", err)
		}
	}
	return nodes, nil
}

func serverProperties(n *node, nodes []*node, extra map[string]string) map[string]string {
	voters := make([]string, len(nodes))
	for i, other := range nodes {
		voters[i] = fmt.Sprintf("%d@%s", other.id, other.controller)
	}
	replicas := strconv.Itoa(len(nodes))
	p := map[string]string{
		"process.roles":                         "broker,controller",
		"node.id":                               strconv.Itoa(n.id),
		"controller.quorum.voters":              strings.Join(voters, ","),
		"listeners":                             fmt.Sprintf("CLIENT://%s,INTERNAL://%s,CONTROLLER://%s", n.client, n.internal, n.controller),
		"advertised.listeners":                  fmt.Sprintf("CLIENT://%s,INTERNAL://%s", n.advertised, n.internal),
		"listener.security.protocol.map":        "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"inter.broker.listener.name":            "INTERNAL",
		"controller.listener.names":             "CONTROLLER",
		"log.dirs":                              n.dataDir(),
		"group.initial.rebalance.delay.ms":      "0",
		"log.cleaner.dedupe.buffer.size":        "4194304", // of 128 MB, a quarter of this JVM
		"default.replication.factor":            replicas,
		"offsets.topic.num.partitions":          "5",
		"transaction.state.log.min.isr":         "1",
		"share.coordinator.state.topic.min.isr": "1",
	}
	for _, topic := range []string{"offsets.topic", "transaction.state.log", "share.coordinator.state.topic"} {
		p[topic+".replication.factor"] = replicas
	}
	maps.Copy(p, extra)
	return p
}

// propertiesText writes a Java properties file. A backslash begins an escape
// there; other characters of our values mean themselves.
func propertiesText(p map[string]string) string {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&text, "%s=%s\n", key, strings.ReplaceAll(p[key], `\`, `\\`))
	}
	return text.String()
}

// Ports are taken from below the range that systems use for outgoing
// connections (32768 up on Linux, 49152 up elsewhere). From within that range a
// port could be lost while its node is down, to a client that connects to it
// again and again and in the end to itself.
const (
	minPort = 15000
	maxPort = 32000
)

// handedOut remembers the ports given to clusters of this process: a port is
// free until its broker has started.
var handedOut = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// freeAddrs returns n loopback addresses on which nobody listens.
func freeAddrs(n int) ([]string, error) {
	handedOut.Lock()
	defer handedOut.Unlock()
	var addrs []string
	for range 1000 {
		if len(addrs) == n {
			return addrs, nil
		}
		port := minPort + rand.IntN(maxPort-minPort)
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if handedOut.ports[port] || !free(addr) {
			continue
		}
		handedOut.ports[port] = true
		addrs = append(addrs, addr)
	}
	return nil, fmt.Errorf("realkafka: found %d free ports of %d", len(addrs), n)
}

func free(addr string) bool {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return false
	}
	return l.Close() == nil
}
