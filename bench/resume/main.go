// Resume says what stopping and carrying on costs: checkpoints and their resume,
// lanes, and a pipeline that does so beside the same one with transactions.
//
//	go run ./resume                    # all of it, some minutes
//	go run ./resume -only checkpoint   # or lanes, pipeline
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sluice-kafka/sluice/internal/realkafka"
)

type options struct {
	only    string
	rounds  int
	input   int
	every   time.Duration
	nodes   int
	verbose bool
}

var sections = []struct {
	name string
	run  func(context.Context, options) error
}{
	{"checkpoint", measureCheckpoints},
	{"lanes", measureLanes},
	{"pipeline", comparePipelines},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := dispatch(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "resume:", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "cluster": // started by checkpoint and lanes
			return serveCluster(args[1:])
		case "transact": // started by pipeline
			return transact(ctx, args[1:])
		}
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	printf("%s, %d CPUs, %s\n", runtime.Version(), runtime.NumCPU(), load())
	for _, s := range sections {
		if o.only != "" && o.only != s.name {
			continue
		}
		if err := s.run(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		printf("%s\n", load())
	}
	return nil
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("resume", flag.ContinueOnError)
	f.StringVar(&o.only, "only", "", "checkpoint, lanes or pipeline; empty: all of them")
	f.IntVar(&o.rounds, "rounds", 5, "rounds; medians are shown")
	f.IntVar(&o.input, "input", 400_000, "sentences that a pipeline reads in a round")
	f.DurationVar(&o.every, "every", 100*time.Millisecond, "time between two checkpoints, or two commits")
	f.IntVar(&o.nodes, "nodes", 1, "of the real Kafka of the pipelines, 1 or 3")
	f.BoolVar(&o.verbose, "v", false, "show every round")
	if err = f.Parse(args); err != nil {
		return o, err
	}
	known := o.only == ""
	for _, s := range sections {
		known = known || s.name == o.only
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("what is %q?", f.Arg(0))
	case !known:
		return o, fmt.Errorf("no section %q", o.only)
	case o.rounds < 1 || o.input < 1000 || o.every <= 0:
		return o, errors.New("-rounds and -every must be more than nothing, -input at least 1000")
	}
	return o, nil
}

func printf(format string, args ...any) { _, _ = fmt.Fprintf(os.Stdout, format, args...) }

// load is the load of the machine, where it can be read.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := bytes.Fields(text); err == nil && len(fields) > 3 {
		return fmt.Sprintf("load average %s %s %s", fields[0], fields[1], fields[2])
	}
	return "load average not known"
}

func median[T int64 | float64 | time.Duration](all []T) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// spread is the median with the least and the most, in milliseconds.
func spread(all []time.Duration) string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return fmt.Sprintf("%.1f ms (%.1f-%.1f)", ms(median(all)), ms(slices.Min(all)), ms(slices.Max(all)))
}

func startKafka(nodes int) (*realkafka.Cluster, error) {
	return realkafka.Run(realkafka.Config{Nodes: nodes, Optimise: true})
}

// drain is a reader's way to wait for its end.
func drain(r io.Reader) { _, _ = io.Copy(io.Discard, r) }

func split(addrs string) []string { return strings.Split(addrs, ",") }
