package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/sluice-kafka/sluice/bench/peer"
	"github.com/sluice-kafka/sluice/bench/stats"
	"github.com/sluice-kafka/sluice/bench/work"
)

// rival is what ratios are against.
const rival = "kgo"

func showFiles(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("show: which file?")
	}
	for _, path := range args {
		r, err := load(path)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(os.Stdout, r.text()); err != nil {
			return err
		}
	}
	return nil
}

// text returns a table in Markdown for each work: medians, lowest and highest.
func (r *report) text() string {
	out := new(strings.Builder)
	fmt.Fprintf(out, "%s, %s, %s, broker: %s\n", r.When.Format("2006-01-02 15:04"), r.Machine, r.Go, r.brokerText())
	fmt.Fprintf(out, "%d round(s) of %v. Median (lowest-highest); x: against %s, median of the rounds' ratios.\n", r.Options.Rounds, r.Options.Span, rival)
	group := ""
	for _, w := range r.Works {
		if w.Group != group {
			group = w.Group
			fmt.Fprintf(out, "\n## %s: %s\n", group, work.Text(group))
		}
		fmt.Fprintf(out, "\n%s, linger %v, batch %d KiB, buffer %d MiB\n\n", w.Name, w.Linger, w.Batch>>10, w.Buffer>>20)
		r.table(out, w)
	}
	r.notes(out)
	return out.String()
}

func (r *report) brokerText() string {
	if r.Options.Broker == "kafka" {
		return fmt.Sprintf("Apache Kafka, %d node(s)", r.Options.Nodes)
	}
	if r.Options.Check {
		return "sink"
	}
	return "sink without checksums"
}

func columns(w namedWork) []metric {
	ms := []metric{cpuPerRecord, perSecond, megabytes, cores}
	switch {
	case w.Rate > 0:
		ms = []metric{p50, p99, p999, late, cpuPerRecord, cores}
	case w.Callers > 0:
		ms = []metric{perSecond, p50, p99, cpuPerRecord, cores}
	}
	return append(ms, allocs, batchAllocs, batchSize, rss, sinkCPU)
}

// compared are the metrics that are shown as a ratio, too.
func compared(m metric) bool {
	return m.Name+m.Unit == cpuPerRecord.Name+cpuPerRecord.Unit || m.Name == perSecond.Name || m.Name == p50.Name || m.Name == p99.Name || m.Name == p999.Name
}

func (r *report) table(out *strings.Builder, w namedWork) {
	head := []string{"client"}
	for _, m := range columns(w) {
		head = append(head, m.Name+" "+m.Unit)
		if compared(m) {
			head = append(head, "x")
		}
	}
	rows := [][]string{head, slices.Repeat([]string{"---"}, len(head))}
	for _, p := range r.peerNames() {
		cells := []string{p}
		for _, m := range columns(w) {
			cells = append(cells, show(r.spread(w, p, m)))
			if compared(m) {
				cells = append(cells, showRatio(stats.Ratios(r.values(w, p, m), r.values(w, rival, m))))
			}
		}
		rows = append(rows, cells)
	}
	align(out, rows)
}

// align writes rows with columns of one width each.
func align(out *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, c := range cells {
			widths[i] = max(widths[i], len(c))
		}
	}
	for _, cells := range rows {
		for i, c := range cells {
			fmt.Fprintf(out, "| %-*s ", widths[i], c)
		}
		out.WriteString("|\n")
	}
}

func show(s stats.Spread) string {
	switch s.N {
	case 0:
		return "-"
	case 1:
		return number(s.Median)
	}
	return fmt.Sprintf("%s (%s-%s)", number(s.Median), number(s.Min), number(s.Max))
}

func showRatio(s stats.Spread) string {
	if s.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", s.Median)
}

// number writes a figure with three digits that mean something.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e6:
		return fmt.Sprintf("%.2fM", v/1e6)
	case a >= 1e4:
		return fmt.Sprintf("%.0fk", v/1e3)
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// peerNames are the clients in the order in which all know them; one that this
// build does not have comes last.
func (r *report) peerNames() []string {
	var names []string
	for _, name := range peer.Names() {
		if _, ok := r.Peers[name]; ok {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Peers)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// notes says what is not the same for all, and what went wrong.
func (r *report) notes(out *strings.Builder) {
	out.WriteString("\n")
	for _, name := range r.peerNames() {
		fmt.Fprintf(out, "- %s %s", name, r.Peers[name])
		if p, err := peer.Find(name); err == nil && p.Note != "" {
			fmt.Fprintf(out, ": %s", p.Note)
		}
		out.WriteString("\n")
	}
	unflushed := 0
	for _, x := range r.Results {
		if x.Error != "" {
			fmt.Fprintf(out, "- failed, round %d: %s, %s: %s: %s\n", x.Round+1, x.Group, x.Work, x.Peer, x.Error)
		} else if !x.Flushed {
			unflushed++
		}
	}
	if unflushed > 0 {
		fmt.Fprintf(out, "- %d run(s) had more in the buffer at the end than they could flush in %v\n", unflushed, flushTimeout)
	}
}
