// Recovery measures what a cut costs with many batches in doubt: how long until
// the partition runs again, and what is sent twice. It does so with a broker
// that may be asked how far it got, and with one that may not, in turn.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/faultproxy"
	"github.com/sluice-kafka/sluice/internal/realkafka"
	"github.com/sluice-kafka/sluice/producer"
)

func main() {
	rtt := flag.Duration("rtt", 100*time.Millisecond, "round trip added")
	doubt := flag.Int("doubt", 500, "batches in flight at the cut, all of them in the log")
	rounds := flag.Int("rounds", 5, "cuts each way; medians are shown")
	flag.Parse()
	if err := run(*rtt, *doubt, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "recovery:", err)
		os.Exit(1)
	}
}

func run(rtt time.Duration, doubt, rounds int) (err error) {
	var proxy *faultproxy.Proxy
	var perr error
	cluster, err := realkafka.Run(realkafka.Config{Advertise: func(_ int, addr string) string {
		if proxy, perr = faultproxy.Listen(addr); perr != nil {
			return addr
		}
		return proxy.Addr()
	}})
	if err = errors.Join(err, perr); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proxy.Close(), cluster.Close()) }()
	_, _ = fmt.Fprintf(os.Stdout, "Apache Kafka %s, 1 node, %v round trip, one partition, batches of 16 KiB; a cut with at least %d in doubt, median of %d\n\n",
		realkafka.KafkaVersion, rtt, doubt, rounds)
	_, _ = fmt.Fprintf(os.Stdout, "%-10s %10s %16s %14s %12s\n", "", "in doubt", "runs again", "sent again", "questions")
	for _, way := range []struct {
		name  string
		blind bool
	}{{"asking", false}, {"silent", true}} {
		var all []result
		for round := range rounds {
			topic := fmt.Sprintf("recovery-%s-%d", way.name, round)
			if err := cluster.CreateTopic(topic, 1, 1, nil); err != nil {
				return err
			}
			proxy.Delay(rtt / 2)
			r, err := measure(cluster.Addrs(), proxy, topic, rtt, doubt, way.blind)
			proxy.Delay(0)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			all = append(all, r)
		}
		slices.SortFunc(all, func(a, b result) int { return int(a.again - b.again) })
		m := all[len(all)/2]
		_, _ = fmt.Fprintf(os.Stdout, "%-10s %10d %16v %10d KiB %12d\n", way.name, m.doubt, m.again.Round(time.Millisecond), m.resent*16, m.questions)
	}
	return nil
}

type result struct {
	doubt, resent, questions int64
	again                    time.Duration // from the cut to the next success
}

// measure fills the line, loses all answers, lets the broker take everything,
// and cuts.
func measure(addrs []string, proxy *faultproxy.Proxy, topic string, rtt time.Duration, doubt int, blind bool) (r result, err error) {
	cfg := config.Default()
	cfg.BootstrapServers, cfg.BatchBytes = addrs, 16<<10
	if blind {
		cfg.Dialer = faultproxy.DialBlind
	}
	p, err := producer.New(cfg)
	if err != nil {
		return r, err
	}
	defer p.Abort()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ended := make(chan struct{})
	producing, stop := context.WithCancel(ctx)
	go func() {
		defer close(ended)
		for value := make([]byte, 1<<10); producing.Err() == nil; {
			p.Produce(producing, producer.Record{Topic: topic, Value: value}, nil)
		}
	}()
	defer func() { stop(); <-ended }()
	inFlight := func() int64 { return int64(p.Stats().Partitions[0].Batches) }
	if err := await(ctx, func() bool { return len(p.Stats().Partitions) > 0 && inFlight() >= int64(doubt) }); err != nil {
		return r, fmt.Errorf("%d batches in flight: %w", inFlight(), err)
	}
	proxy.DropResponses(true)
	type state struct{ sent, written int64 }
	var before state
	err = await(ctx, func() bool { // until the broker has all that is on the line, and no answer is
		time.Sleep(2 * rtt)
		now := state{proxy.Stats().RequestBytes, p.Stats().Written}
		same := now == before
		before = now
		return same
	})
	if err != nil {
		return r, err
	}
	r.doubt = inFlight()
	s := p.Stats()
	cut := time.Now()
	proxy.DropResponses(false)
	proxy.CutAll()
	if err := await(ctx, func() bool { return p.Stats().Written > s.Written }); err != nil {
		return r, err
	}
	r.again = time.Since(cut)
	after := p.Stats()
	r.resent, r.questions = after.Resends-s.Resends, after.Questions-s.Questions
	return r, nil
}

func await(ctx context.Context, done func() bool) error {
	for !done() {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
