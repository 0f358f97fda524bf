// Wan measures producers against a real Apache Kafka at the other end of a long
// line: a proxy delays every byte by half the round trip, each way. All clients
// run in turn, in one run, with the same records; the ratio, of the first client
// to the second, is what counts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-kafka/sluice/bench/peer"
	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/faultproxy"
	"github.com/sluice-kafka/sluice/internal/realkafka"
)

type setting struct {
	partitions int32
	batch      int
}

const (
	linger = 5 * time.Millisecond
	buffer = 64 << 20
)

func main() {
	nodes := flag.Int("nodes", 1, "brokers, 1 or 3; topics are replicated to all")
	rtt := flag.Duration("rtt", 50*time.Millisecond, "round trip added")
	warm := flag.Duration("warm", 20*time.Second, "how long each client warms the brokers up, which compile what is hot")
	rounds := flag.Int("rounds", 3, "rounds; medians are shown")
	span := flag.Duration("span", 4*time.Second, "how long each client produces in a round")
	names := flag.String("peers", "sluice,kgo", "clients with commas, of "+strings.Join(peer.Names(), ", "))
	connections := flag.Int("connections", 1, "connections.per.broker of Sluice")
	flag.Parse()
	peers, err := choose(*names, *connections)
	if err == nil {
		err = run(peers, *nodes, *rtt, *warm, *rounds, *span)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wan:", err)
		os.Exit(1)
	}
}

// choose finds the clients, and gives Sluice its connections.
func choose(names string, connections int) ([]peer.Peer, error) {
	peers, err := peer.FindAll(names)
	for i := range peers {
		if peers[i].Name == "sluice" {
			peers[i].Open = func(c peer.Config) (peer.Client, error) {
				return peer.OpenSluice(c, func(cfg *config.Config) { cfg.ConnectionsPerBroker = connections })
			}
		}
	}
	return peers, err
}

func run(peers []peer.Peer, nodes int, rtt, warm time.Duration, rounds int, span time.Duration) (err error) {
	var proxies []*faultproxy.Proxy
	var perr error
	cluster, err := realkafka.Run(realkafka.Config{Nodes: nodes, Optimise: true, Advertise: func(_ int, addr string) string {
		p, err := faultproxy.Listen(addr)
		if err != nil {
			perr = errors.Join(perr, err)
			return addr
		}
		proxies = append(proxies, p)
		return p.Addr()
	}})
	if err = errors.Join(err, perr); err != nil {
		return err
	}
	defer func() {
		for _, p := range proxies {
			err = errors.Join(err, p.Close())
		}
		err = errors.Join(err, cluster.Close())
	}()
	_, _ = fmt.Fprintf(os.Stdout, "Apache Kafka %s, %d node(s), %v round trip, acks=all, idempotent, values of 1 KiB, median of %d rounds of %v\n\n",
		realkafka.KafkaVersion, nodes, rtt, rounds, span)
	_, _ = fmt.Fprintf(os.Stdout, "%-12s %-10s", "partitions", "batch")
	for _, p := range peers {
		_, _ = fmt.Fprintf(os.Stdout, "%14s", p.Name)
	}
	_, _ = fmt.Fprintf(os.Stdout, "%10s\n", "ratio")
	if err := cluster.CreateTopic("warm-up", 8, int16(nodes), nil); err != nil {
		return err
	}
	for _, p := range peers {
		if _, err := measure(p, cluster.Addrs(), "warm-up", setting{8, 16 << 10}, warm); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	for i, s := range []setting{{1, 16 << 10}, {1, 1 << 20}, {8, 16 << 10}, {8, 1 << 20}} {
		results := make([][]float64, len(peers))
		for round := range rounds {
			for j, p := range peers {
				topic := fmt.Sprintf("wan-%d-%d-%s", i, round, p.Name)
				if err := cluster.CreateTopic(topic, s.partitions, int16(nodes), nil); err != nil {
					return err
				}
				for _, p := range proxies {
					p.Delay(rtt / 2)
				}
				mbs, err := measure(p, cluster.Addrs(), topic, s, span)
				for _, p := range proxies {
					p.Delay(0)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", p.Name, err)
				}
				results[j] = append(results[j], mbs)
			}
		}
		show(s, results)
	}
	return nil
}

func show(s setting, results [][]float64) {
	_, _ = fmt.Fprintf(os.Stdout, "%-12d %-10s", s.partitions, fmt.Sprintf("%d KiB", s.batch>>10))
	for _, r := range results {
		slices.Sort(r)
		_, _ = fmt.Fprintf(os.Stdout, "%9.1f MB/s", r[len(r)/2])
	}
	if len(results) < 2 {
		_, _ = fmt.Fprintln(os.Stdout)
		return
	}
	_, _ = fmt.Fprintf(os.Stdout, "%9.1fx\n", results[0][len(results[0])/2]/results[1][len(results[1])/2])
}

// measure produces for a while and returns how much was acknowledged a second,
// the wait for the last answers included.
func measure(p peer.Peer, addrs []string, topic string, s setting, span time.Duration) (mbs float64, err error) {
	var failed atomic.Int64
	value := make([]byte, 1<<10)
	c, err := p.Open(peer.Config{
		Addrs: addrs, Topic: topic, Codec: "none", Linger: linger, BatchBytes: s.batch, BufferBytes: buffer, ValueBytes: len(value),
		Done: func(_ *int64, err error) {
			if err != nil {
				failed.Add(1)
			}
		},
	})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), span+2*time.Minute)
	defer cancel()
	for range 10 { // connections and window are up
		c.Produce(ctx, value, 0, nil)
	}
	if err := c.Flush(ctx); err != nil {
		return 0, err
	}
	began, records := time.Now(), 0
	for time.Since(began) < span {
		for range 16 {
			c.Produce(ctx, value, 0, nil)
		}
		records += 16
	}
	if err := c.Flush(ctx); err != nil {
		return 0, err
	}
	if n := failed.Load(); n > 0 {
		return 0, fmt.Errorf("%d records failed", n)
	}
	return float64(records*len(value)) / 1e6 / time.Since(began).Seconds(), nil
}
