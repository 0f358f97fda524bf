package main

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/sluice-kafka/sluice/producer/producertest"
)

const topic = "t"

// serveCluster is an embedded cluster in a process of its own, so that memory
// and time are the client's: it prints its addresses as JSON and serves until
// its standard input ends.
func serveCluster(args []string) error {
	f := flag.NewFlagSet("cluster", flag.ContinueOnError)
	partitions := f.Int("partitions", 1, "of the topic")
	if err := f.Parse(args); err != nil {
		return err
	}
	c, err := producertest.New(producertest.Config{Brokers: 3, Topics: map[string]int32{topic: int32(*partitions)}})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := json.NewEncoder(os.Stdout).Encode(c.Addrs()); err != nil {
		return err
	}
	drain(os.Stdin)
	return nil
}

type cluster struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addrs []string
}

func startCluster(partitions int) (*cluster, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &cluster{cmd: exec.Command(self, "cluster", "-partitions", strconv.Itoa(partitions))}
	c.cmd.Stderr = os.Stderr
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	if err := json.NewDecoder(stdout).Decode(&c.addrs); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *cluster) close() error { return errors.Join(c.stdin.Close(), c.cmd.Wait()) }
