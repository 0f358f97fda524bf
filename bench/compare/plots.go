package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sluice-kafka/sluice/bench/plot"
	"github.com/sluice-kafka/sluice/bench/work"
)

// plotFile draws what is in files of results: a chart for each group of works
// and metric.
func plotFile(args []string) error {
	f := flag.NewFlagSet("plot", flag.ContinueOnError)
	out := f.String("out", ".", "directory for the SVG files")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return fmt.Errorf("plot: which file?")
	}
	for _, path := range f.Args() {
		r, err := load(path)
		if err != nil {
			return err
		}
		if err := r.plot(*out); err != nil {
			return err
		}
	}
	return nil
}

// plot writes GROUP-METRIC.svg files.
func (r *report) plot(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var groups []string
	for _, w := range r.Works {
		if !slices.Contains(groups, w.Group) {
			groups = append(groups, w.Group)
		}
	}
	for _, g := range groups {
		for name, m := range plotted(r.worksOf(g)) {
			if err := r.plotOne(filepath.Join(dir, g+"-"+name+".svg"), g, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func plotted(works []namedWork) map[string]metric {
	if works[0].Rate > 0 {
		return map[string]metric{"p50": p50, "p99": p99, "p999": p999, "cores": cores}
	}
	return map[string]metric{"cpu": cpuPerRecord, "rate": perSecond, "memory": rss}
}

func (r *report) worksOf(group string) []namedWork {
	return slices.DeleteFunc(slices.Clone(r.Works), func(w namedWork) bool { return w.Group != group })
}

func (r *report) plotOne(path, group string, m metric) (err error) {
	better := "more is better"
	if m.Lower {
		better = "less is better"
	}
	c := plot.Chart{
		Title: fmt.Sprintf("%s: %s, %s", group, m.Name, m.Unit), Unit: m.Unit + ", " + better,
		Series: r.peerNames(),
		Note: fmt.Sprintf("%s; median, lowest to highest of %d round(s) of %v; broker: %s; %s",
			work.Text(group), r.Options.Rounds, r.Options.Span, r.brokerText(), r.When.Format("2006-01-02")),
	}
	for _, w := range r.worksOf(group) {
		g := plot.Group{Label: w.Name}
		for i, p := range c.Series {
			if s := r.spread(w, p, m); s.N > 0 {
				g.Bars = append(g.Bars, plot.Bar{Series: i, Value: s.Median, Low: s.Min, High: s.Max, Text: number(s.Median)})
			}
		}
		c.Groups = append(c.Groups, g)
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return plot.Draw(file, c)
}
