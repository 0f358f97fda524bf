package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/sluice-kafka/sluice/bench/sink"
	"github.com/sluice-kafka/sluice/bench/work"
)

// sinkFigures are the last words of a sink process.
type sinkFigures struct {
	sink.Stats
	CPU time.Duration
}

// serveSink is a sink process: it prints its addresses as JSON, serves until
// its standard input ends, and prints what came in.
func serveSink(args []string) error {
	var c sink.Config
	f := flag.NewFlagSet("sink", flag.ContinueOnError)
	f.IntVar(&c.Brokers, "brokers", 1, "listeners; partitions are led by them in turn")
	partitions := f.Int("partitions", 8, "of every topic")
	f.DurationVar(&c.RTT, "rtt", 0, "round trip of the line in front")
	f.DurationVar(&c.Service, "service", 0, "how long a Produce request is in work")
	f.BoolVar(&c.Serial, "serial", false, "a connection's requests are worked on one after another, as by a real broker")
	f.DurationVar(&c.Jitter, "jitter", 0, "added to the service, from nothing to so much, anew for each request")
	f.DurationVar(&c.Tick, "tick", 0, "requests are taken up only so often")
	window := f.Int("window", 0, "sequences that may be in flight, as KIP-758 says; 0 is a stock broker")
	f.BoolVar(&c.Unchecked, "unchecked", false, "do not check checksums")
	if err := f.Parse(args); err != nil {
		return err
	}
	c.Partitions, c.Window = int32(*partitions), int32(*window)
	b, err := sink.Listen(c)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(b.Addrs()); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	if err := b.Close(); err != nil {
		return err
	}
	return out.Encode(sinkFigures{b.Stats(), cpu()})
}

// sinkProcess is a sink in a process of its own.
type sinkProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *json.Decoder
	addrs []string
}

func startSink(ctx context.Context, w work.Work, check bool) (*sinkProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "sink",
		"-brokers", strconv.Itoa(w.Brokers), "-partitions", strconv.Itoa(int(w.Partitions)),
		"-rtt", w.RTT.String(), "-service", w.Service.String(), "-jitter", w.Jitter.String(), "-tick", w.Tick.String(), fmt.Sprintf("-serial=%t", w.Serial),
		"-window", strconv.Itoa(int(w.Window)), fmt.Sprintf("-unchecked=%t", !check))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &sinkProcess{cmd: cmd, stdin: stdin, out: json.NewDecoder(bufio.NewReader(stdout))}
	if err := p.out.Decode(&p.addrs); err != nil {
		return nil, errors.Join(fmt.Errorf("sink: %w", err), p.kill())
	}
	return p, nil
}

func (p *sinkProcess) Addrs() []string                 { return p.addrs }
func (p *sinkProcess) Topic(work.Work) (string, error) { return sink.Topic, nil }

// Stop ends the process and returns its figures.
func (p *sinkProcess) Stop() (*sinkFigures, error) {
	if err := p.stdin.Close(); err != nil {
		return nil, errors.Join(err, p.kill())
	}
	var f sinkFigures
	if err := p.out.Decode(&f); err != nil {
		return nil, errors.Join(fmt.Errorf("sink: %w", err), p.kill())
	}
	return &f, p.cmd.Wait()
}

func (p *sinkProcess) kill() error {
	return errors.Join(p.cmd.Process.Kill(), p.cmd.Wait())
}
