// Wan measures producers against a real Apache Kafka at the other end of a long
// line: a proxy delays every byte by half the round trip, each way. All clients
// run in turn, in one run, with the same records; the ratio is what counts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sluice-kafka/sluice/internal/faultproxy"
	"github.com/sluice-kafka/sluice/internal/realkafka"
)

type setting struct {
	partitions int32
	batch      int
}

func main() {
	nodes := flag.Int("nodes", 1, "brokers, 1 or 3; topics are replicated to all")
	rtt := flag.Duration("rtt", 50*time.Millisecond, "round trip added")
	rounds := flag.Int("rounds", 3, "rounds; medians are shown")
	span := flag.Duration("span", 4*time.Second, "how long each client produces in a round")
	flag.IntVar(&connections, "connections", connections, "connections.per.broker of Sluice")
	flag.Parse()
	if err := run(*nodes, *rtt, *rounds, *span); err != nil {
		fmt.Fprintln(os.Stderr, "wan:", err)
		os.Exit(1)
	}
}

func run(nodes int, rtt time.Duration, rounds int, span time.Duration) (err error) {
	var proxies []*faultproxy.Proxy
	var perr error
	cluster, err := realkafka.Run(realkafka.Config{Nodes: nodes, Advertise: func(_ int, addr string) string {
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
	fmt.Printf("Apache Kafka %s, %d node(s), %v round trip, acks=all, idempotent, values of 1 KiB, median of %d rounds of %v\n\n",
		realkafka.KafkaVersion, nodes, rtt, rounds, span)
	fmt.Printf("%-12s %-10s", "partitions", "batch")
	for _, p := range peers {
		fmt.Printf("%14s", p.name)
	}
	fmt.Printf("%10s\n", "ratio")
	for i, s := range []setting{{1, 16 << 10}, {1, 1 << 20}, {8, 16 << 10}, {8, 1 << 20}} {
		results := make([][]float64, len(peers))
		for round := range rounds {
			for j, peer := range peers {
				topic := fmt.Sprintf("wan-%d-%d-%s", i, round, peer.name)
				if err := cluster.CreateTopic(topic, s.partitions, int16(nodes), nil); err != nil {
					return err
				}
				for _, p := range proxies {
					p.Delay(rtt / 2)
				}
				mbs, err := measure(peer, cluster.Addrs(), topic, s, span)
				for _, p := range proxies {
					p.Delay(0)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", peer.name, err)
				}
				results[j] = append(results[j], mbs)
			}
		}
		show(s, results)
	}
	return nil
}

func show(s setting, results [][]float64) {
	fmt.Printf("%-12d %-10s", s.partitions, fmt.Sprintf("%d KiB", s.batch>>10))
	for _, r := range results {
		slices.Sort(r)
		fmt.Printf("%9.1f MB/s", r[len(r)/2])
	}
	fmt.Printf("%9.1fx\n", results[0][len(results[0])/2]/results[1][len(results[1])/2])
}

// measure produces for a while and returns how much was acknowledged a second,
// the wait for the last answers included.
func measure(peer peer, addrs []string, topic string, s setting, span time.Duration) (mbs float64, err error) {
	c, err := peer.open(addrs, topic, s)
	if err != nil {
		return 0, err
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(context.Background(), span+2*time.Minute)
	defer cancel()
	value := make([]byte, 1<<10)
	for range 10 { // connections and window are up
		c.produce(ctx, value)
	}
	if err := c.flush(ctx); err != nil {
		return 0, err
	}
	began, records := time.Now(), 0
	for time.Since(began) < span {
		for range 16 {
			c.produce(ctx, value)
		}
		records += 16
	}
	if err := c.flush(ctx); err != nil {
		return 0, err
	}
	if n := c.failed(); n > 0 {
		return 0, fmt.Errorf("%d records failed", n)
	}
	return float64(records*len(value)) / 1e6 / time.Since(began).Seconds(), nil
}
