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
	"github.com/sluice-kafka/sluice/internal/faultproxy"
)

// brokerCommand is the first argument of a broker process.
const brokerCommand = "broker"

const (
	slowness     = 200 * time.Millisecond // of a request, one after another
	upFor        = 2 * time.Second        // of flap
	downFor      = time.Second
	deadAfter    = 10 // of dead: the span divided by this
	stopPatience = 5 * time.Second
)

// serveBroker is a broker process: a sink, behind a proxy if it can hang. It
// prints the addresses to dial as JSON and serves until its input ends.
func serveBroker(args []string, in io.Reader, out io.Writer) error {
	f := flag.NewFlagSet(brokerCommand, flag.ContinueOnError)
	partitions := f.Int("partitions", 8, "")
	fault := f.String("fault", "none", "")
	span := f.Duration("span", time.Minute, "")
	if err := f.Parse(args); err != nil {
		return err
	}
	c := sink.Config{Partitions: int32(*partitions)}
	if *fault == "slow" {
		c.Service, c.Serial = slowness, true
	}
	b, err := sink.Listen(c)
	if err != nil {
		return err
	}
	addrs := b.Addrs()
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(ended)
	}()
	var p *faultproxy.Proxy
	if *fault == "dead" || *fault == "flap" {
		if p, err = faultproxy.Listen(addrs[0]); err != nil {
			return errors.Join(err, b.Close())
		}
		addrs = []string{p.Addr()}
	}
	err = json.NewEncoder(out).Encode(addrs)
	switch *fault {
	case "dead":
		if !over(ended, *span/deadAfter) {
			p.Pause()
		}
	case "flap":
		flap(p, ended)
	}
	<-ended
	if p != nil {
		err = errors.Join(err, p.Close())
	}
	return errors.Join(err, b.Close())
}

// flap cuts all connections, lets new ones hang for a while, and so on.
func flap(p *faultproxy.Proxy, ended <-chan struct{}) {
	for !over(ended, upFor) {
		p.Pause()
		p.CutAll()
		stop := over(ended, downFor)
		p.Resume()
		if stop {
			return
		}
	}
}

// over waits, and reports whether the process was told to end meanwhile.
func over(ended <-chan struct{}, d time.Duration) bool {
	select {
	case <-ended:
		return true
	case <-time.After(d):
		return false
	}
}

// brokerProcess is a broker in a process of its own.
type brokerProcess struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addrs []string // to dial, for every broker
}

func startBroker(ctx context.Context, o options) (*brokerProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, brokerCommand, "-partitions", strconv.Itoa(o.partitions), "-fault", o.fault, "-span", o.span.String())
	cmd.Stderr, cmd.WaitDelay = os.Stderr, stopPatience
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
	b := &brokerProcess{cmd: cmd, stdin: stdin}
	if err := json.NewDecoder(bufio.NewReader(stdout)).Decode(&b.addrs); err != nil {
		return nil, errors.Join(fmt.Errorf("broker: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return b, nil
}

// stop ends the process. Its connections are cut by that.
func (b *brokerProcess) stop() error {
	return errors.Join(b.stdin.Close(), b.cmd.Wait())
}
