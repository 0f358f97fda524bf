// Compare gives the same works to several producer clients and says what each
// took. Every run has a fresh process for the client and one for the broker, so
// that CPU and memory are the client's alone; clients take turns, round by round.
//
//	go run ./compare -work rate100,cpu1k -rounds 5 -json results.json
//	go run ./compare plot -out plots results.json
//	go run ./compare show results.json
//	go run ./compare sink -partitions 8
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/sluice-kafka/sluice/bench/peer"
	"github.com/sluice-kafka/sluice/bench/work"
)

func main() {
	if err := dispatch(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func dispatch(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "client": // started by run
			return client(args[1:])
		case "sink": // started by run, or by hand
			return serveSink(args[1:])
		case "plot":
			return plotFile(args[1:])
		case "show":
			return showFiles(args[1:])
		case "run":
			args = args[1:]
		}
	}
	return run(args)
}

// options are what the command line of run says.
type options struct {
	Works   string        `json:"works"`
	Peers   string        `json:"peers"`
	Rounds  int           `json:"rounds"`
	Warm    int           `json:"warm,omitempty"`
	Span    time.Duration `json:"span"`
	Broker  string        `json:"broker"` // sink or kafka
	Nodes   int           `json:"nodes"`
	Check   bool          `json:"check"`
	json    string
	profile string
	list    bool
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.StringVar(&o.Works, "work", "rate100", "groups of works with commas, GROUP/TEXT for those with TEXT in the name, or all")
	f.StringVar(&o.Peers, "peers", defaultPeers(), "clients with commas, of "+strings.Join(peer.Names(), ", "))
	f.IntVar(&o.Rounds, "rounds", 5, "rounds; medians are shown")
	f.IntVar(&o.Warm, "warm", 0, "rounds before these, which do not count: a JVM that compiles gets faster")
	f.DurationVar(&o.Span, "span", 4*time.Second, "how long a run is measured, after a quarter of it to settle")
	f.StringVar(&o.Broker, "broker", "sink", "sink, or kafka for a real one (Java and Maven needed)")
	f.IntVar(&o.Nodes, "nodes", 1, "of a real Kafka, 1 or 3; topics are replicated to all")
	f.BoolVar(&o.Check, "check", true, "the sink checks checksums (sequences always)")
	f.StringVar(&o.json, "json", "", "write all results to this file")
	f.StringVar(&o.profile, "profile", "", "write CPU profiles of the clients to this directory; they cost some CPU themselves")
	f.BoolVar(&o.list, "list", false, "list the works and the clients, and do nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("what is %q?", f.Arg(0))
	case o.Rounds < 1 || o.Warm < 0 || o.Span <= 0:
		return o, fmt.Errorf("rounds and span must be more than nothing")
	case o.Broker != "sink" && o.Broker != "kafka":
		return o, fmt.Errorf("no broker %q", o.Broker)
	}
	return o, nil
}

// defaultPeers are the real clients of this build.
func defaultPeers() string {
	var names []string
	for _, n := range peer.Names() {
		if n != "raw" && n != "null" {
			names = append(names, n)
		}
	}
	return strings.Join(names, ",")
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.list {
		_, err := io.WriteString(os.Stdout, list())
		return err
	}
	works, err := work.Select(o.Works)
	if err != nil {
		return err
	}
	peers, err := peer.FindAll(o.Peers)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	report := newReport(o, works, peers)
	if err := report.fill(ctx, o, works, peers); err != nil {
		return err
	}
	_, err = io.WriteString(os.Stdout, report.text())
	return err
}

func list() string {
	out := new(strings.Builder)
	for _, g := range work.Groups {
		fmt.Fprintf(out, "%s: %s\n", g.Name, g.Text)
		ws, _ := work.Select(g.Name)
		for _, w := range ws {
			fmt.Fprintf(out, "    %s\n", w.Name())
		}
	}
	out.WriteString("\n")
	for _, name := range peer.Names() {
		p, _ := peer.Find(name)
		fmt.Fprintf(out, "%-11s %-8s %s\n", name, p.Version(), p.Note)
	}
	return out.String()
}
