package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-kafka/sluice/bench/peer"
	"github.com/sluice-kafka/sluice/bench/work"
)

// broker is what the clients of one run produce to.
type broker interface {
	Addrs() []string
	Topic(work.Work) (string, error)
	Stop() (*sinkFigures, error)
}

// fill does all runs, round by round, and keeps the file up to date, so that a
// run cut short is not lost.
func (r *report) fill(ctx context.Context, o options, works []work.Work, peers []peer.Peer) (err error) {
	start := func(ctx context.Context, w work.Work) (broker, error) { return startSink(ctx, w, o.Check) }
	if o.Broker == "kafka" {
		k, err := startKafka(o.Nodes, anyDelayed(works))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, k.close()) }()
		start = func(context.Context, work.Work) (broker, error) { return k, nil }
	}
	if o.profile != "" {
		if err := os.MkdirAll(o.profile, 0o755); err != nil {
			return err
		}
	}
	total, n := (o.Warm+o.Rounds)*len(works)*len(peers), 0
	for round := -o.Warm; round < o.Rounds; round++ {
		for _, w := range works {
			for i := range peers {
				p := peers[(i+round+o.Warm)%len(peers)] // nobody is always first
				n++
				fmt.Fprintf(os.Stderr, "%d/%d round %d: %s: %s: %s\n", n, total, round+1, w.Group, w.Name(), p.Name)
				res := attempt(ctx, o, start, round, w, p)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if round < 0 {
					continue
				}
				r.Results = append(r.Results, res)
				if err := r.save(o.json); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func anyDelayed(works []work.Work) bool {
	for _, w := range works {
		if w.RTT > 0 {
			return true
		}
	}
	return false
}

// attempt does one run. What goes wrong is part of its result: one client that
// cannot do a work does not stop the others.
func attempt(ctx context.Context, o options, start func(context.Context, work.Work) (broker, error), round int, w work.Work, p peer.Peer) result {
	res := result{Group: w.Group, Work: w.Name(), Peer: p.Name, Round: round}
	ctx, cancel := context.WithTimeout(ctx, 2*o.Span+warmUpTimeout+flushTimeout+20*time.Second)
	defer cancel()
	b, err := start(ctx, w)
	if err != nil {
		res.Error = err.Error()
		return res
	}
	t := task{Peer: p.Name, Work: w, Addrs: b.Addrs(), Span: o.Span}
	if t.Topic, err = b.Topic(w); err == nil {
		t.Profile = profileName(o.profile, res)
		res.figures, err = runClient(ctx, t)
	}
	var stopErr error
	res.Sink, stopErr = b.Stop()
	if err = errors.Join(err, stopErr, res.judge()); err != nil {
		res.Error = err.Error()
		fmt.Fprintln(os.Stderr, "    failed:", err)
	}
	return res
}

func profileName(dir string, r result) string {
	if dir == "" {
		return ""
	}
	name := strings.NewReplacer(" ", "", ",", "-", "/", "_").Replace(r.Group + "-" + r.Work + "-" + r.Peer)
	return filepath.Join(dir, fmt.Sprintf("%s-%d.pprof", name, r.Round+1))
}

func runClient(ctx context.Context, t task) (f figures, err error) {
	spec, err := json.Marshal(t)
	if err != nil {
		return f, err
	}
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	cmd := exec.CommandContext(ctx, self, "client", string(spec))
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(complaints.String())
		return f, fmt.Errorf("client: %w: %s", err, said[max(0, len(said)-2000):])
	}
	return f, json.Unmarshal(out.Bytes(), &f)
}
