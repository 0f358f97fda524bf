// Soak produces at full speed for as long as you like and watches what the
// process takes: resident memory, heap, goroutines, open files. It fails if
// memory is above its limit or grows. The broker is a sink in a process of its
// own, so that the memory is the producer's; it can hang, be slow, or come and go.
//
//	go run ./soak -span 1h -every 1m
//	go run ./soak -fault flap -codec lz4
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := dispatch(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == brokerCommand {
		return serveBroker(args[1:], os.Stdin, out)
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	return run(ctx, o, out)
}

// options are what the command line says. Sizes are in bytes.
type options struct {
	span, every time.Duration
	broker      string // sink, or addresses
	topic       string
	fault       string
	buffer      int64
	size        int
	codec       string
	partitions  int
	limit       int64
	rise        int64
}

var faults = []string{"none", "dead", "slow", "flap"}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.DurationVar(&o.span, "span", time.Minute, "how long")
	f.DurationVar(&o.every, "every", 0, "time between two samples; 0 is a thirtieth of the span")
	f.StringVar(&o.broker, "broker", "sink", "sink, or addresses of real brokers with commas")
	f.StringVar(&o.topic, "topic", "soak", "of a real broker, where it must exist or may be created")
	f.StringVar(&o.fault, "fault", "none", "of the sink: "+strings.Join(faults, ", ")+"; dead hangs after a tenth of the span, flap hangs for one second in three")
	buffer := f.Int64("buffer", 64, "buffer.memory in MiB")
	f.IntVar(&o.size, "size", 100, "bytes of a value")
	f.StringVar(&o.codec, "codec", "none", "compression.type")
	f.IntVar(&o.partitions, "partitions", 8, "of the sink")
	limit := f.Int64("limit", 0, "resident memory allowed, in MiB; 0 is twice the buffer and 64 MiB")
	rise := f.Int64("rise", 0, "how much higher resident memory may be in the second half than in the first, each at its highest, in MiB; 0 is half the buffer, by which it goes up and down")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.buffer, o.limit, o.rise = *buffer<<20, *limit<<20, *rise<<20
	if o.every == 0 {
		o.every = o.span / 30
	}
	if o.limit == 0 {
		o.limit = 2*o.buffer + 64<<20
	}
	if o.rise == 0 {
		o.rise = o.buffer / 2
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("what is %q?", f.Arg(0))
	case o.every <= 0 || o.span < 4*o.every:
		return o, errors.New("the span must have four samples at least")
	case !slices.Contains(faults, o.fault):
		return o, fmt.Errorf("no fault %q, there are %s", o.fault, strings.Join(faults, ", "))
	case o.broker != "sink" && o.fault != "none":
		return o, errors.New("only the sink has faults")
	case o.buffer < 1 || o.size < 1 || o.partitions < 1 || o.limit < 0 || o.rise < 0:
		return o, errors.New("sizes must be more than nothing")
	}
	return o, nil
}

// run produces for the span, prints what it saw, and judges it.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	addrs := strings.Split(o.broker, ",")
	if o.broker == "sink" {
		o.topic = "sink"
		b, err := startBroker(ctx, o)
		if err != nil {
			return err
		}
		defer func() { _ = b.stop() }()
		addrs = b.addrs
	}
	s, err := newSource(o, addrs)
	if err != nil {
		return err
	}
	defer s.p.Abort()
	_, _ = fmt.Fprintf(out, "fault %s, values of %d B, codec %s, buffer %d MiB, limit %d MiB\n", o.fault, o.size, o.codec, o.buffer>>20, o.limit>>20)
	_, _ = fmt.Fprintln(out, header)
	samples := s.watch(ctx, o, func(x sample) { _, _ = fmt.Fprintln(out, x) })
	half := samples[len(samples)/2:]
	_, _ = fmt.Fprintf(out, "second half: %+.2f MiB/min resident, %+.2f MiB/min alive on the heap\n", mib(residentSlope(half)), mib(aliveSlope(half)))
	return errors.Join(s.flush(o), judge(o, samples))
}
