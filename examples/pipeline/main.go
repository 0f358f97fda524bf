// Pipeline reads sentences from one topic and writes their words to another one,
// each exactly once and in order, without transactions: it stores how far it got
// in its input together with how far it got in its output, and after any crash
// carries on from there.
//
// With no flags it brings its own Kafka cluster and its own sentences along.
// With -brokers it runs against yours, between two topics of yours, until it is
// interrupted. With -chaos it starts itself as another process, kills that again
// and again at random moments, and then compares all output with all input; the
// exit status is the verdict.
//
// With -event-time the words keep the timestamps of their sentences, which are days
// old where the sentences are made here: brokers forget the producer by them all the
// time, and the pipeline finds in their logs how far it came. (With -pauses as well
// the embedded brokers only forget each 10 minutes. No two processes may write such
// records at once while brokers forget.) With -grow partitions are added to the output
// meanwhile: the words stay where they were.
//
// To make it yours copy pipeline.go, worker.go, store.go and offsets from
// kafka.go, and write your own transform.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/twmb/franz-go/pkg/kgo"
)

type options struct {
	brokers       string
	input, output string
	state         string
	every         time.Duration
	expiration    time.Duration
	attached      bool
	verbose       bool
	chaos         bool
	kills, pauses int
	eventTime     bool
	grow          bool
	records       int
	partitions    int
	window        int
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("pipeline", flag.ContinueOnError)
	f.StringVar(&o.brokers, "brokers", "", "host:port,... of a real cluster; empty: an embedded one")
	f.StringVar(&o.input, "input", "", "topic to read; empty, where the sentences are made here: a new one")
	f.StringVar(&o.output, "output", "", "topic to write; empty, where the sentences are made here: a new one")
	f.StringVar(&o.state, "state", "pipeline-state", "directory for the states, with -brokers")
	f.DurationVar(&o.every, "every", 100*time.Millisecond, "time between two checkpoints")
	f.DurationVar(&o.expiration, "expiration", config.Default().ProducerIDExpiration, "producer.id.expiration.ms of the brokers, also of embedded ones")
	f.BoolVar(&o.attached, "attached", false, "stop at the end of standard input, and say on standard output what was saved")
	f.BoolVar(&o.verbose, "v", false, "log what the producer does")
	f.BoolVar(&o.chaos, "chaos", false, "kill the pipeline again and again, and judge its output")
	f.IntVar(&o.kills, "kills", 20, "how often, with -chaos")
	f.IntVar(&o.pauses, "pauses", 0, "how many of the kills are pauses at first: the process goes on, and is killed, beside the next one")
	f.BoolVar(&o.eventTime, "event-time", false, "words have the timestamps of their sentences, which are days old if they are made here")
	f.BoolVar(&o.grow, "grow", false, "add partitions to the output now and then, with -chaos")
	f.IntVar(&o.records, "records", 100_000, "sentences to make, without -brokers and -chaos")
	f.IntVar(&o.partitions, "partitions", 4, "partitions of topics that are made here")
	f.IntVar(&o.window, "window", 0, "sequences that embedded brokers remember of a producer, as in KIP-758; 0: stock ones")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("what is %q?", f.Arg(0))
	case o.every <= 0 || o.expiration <= 0 || o.kills < 0 || o.records < 0 || o.partitions <= 0:
		return o, errors.New("-every, -expiration and -partitions must be positive, -kills and -records not negative")
	case o.window < 0 || o.window > 1<<30:
		return o, errors.New("-window must be from 0 to 2^30")
	case o.pauses < 0 || o.pauses > o.kills:
		return o, errors.New("-pauses must be from 0 to -kills")
	case o.pauses > 0 && !canPause:
		return o, errors.New("-pauses needs a Unix")
	case o.grow && (!o.chaos || o.kills == 0):
		return o, errors.New("-grow needs -chaos, and -kills")
	case o.brokers != "" && !o.chaos && (o.input == "" || o.output == ""):
		return o, errors.New("-brokers needs -input and -output")
	}
	return o, nil
}

func main() { os.Exit(start(os.Args[1:])) }

// start is main, with its arguments and its exit status.
func start(args []string) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err == nil {
		err = do(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		return 1
	}
	return 0
}

func do(ctx context.Context, o options) error {
	switch {
	case o.chaos:
		s, err := newStage(ctx, o)
		if err != nil {
			return err
		}
		defer s.close()
		return s.chaos(ctx)
	case o.brokers == "":
		s, err := newStage(ctx, o)
		if err != nil {
			return err
		}
		defer s.close()
		return s.demo(ctx)
	}
	p, err := newPipeline(o, strings.Split(o.brokers, ","), o.input, o.output, o.state)
	if err != nil {
		return err
	}
	if o.attached {
		var detach context.CancelFunc
		ctx, detach = context.WithCancel(ctx)
		defer detach()
		go func() {
			io.Copy(io.Discard, os.Stdin)
			detach()
		}()
		p.saved = func(partition int32, offset int64) { fmt.Printf("saved %d %d.\n", partition, offset) }
	}
	return p.run(ctx)
}

func newPipeline(o options, brokers []string, input, output, state string) (*pipeline, error) {
	store, err := OpenFileStore(state, input)
	if err != nil {
		return nil, err
	}
	p := &pipeline{
		brokers: brokers, input: input, output: output, store: store,
		transform: o.transform(), every: o.every, expiration: o.expiration,
		saved: func(int32, int64) {},
	}
	if o.verbose {
		p.logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return p, nil
}

func (o options) transform() func(*kgo.Record) []producer.Record {
	if o.eventTime {
		return transformAt
	}
	return transform
}
