package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/sluice-kafka/sluice/bench/peer"
	"github.com/sluice-kafka/sluice/bench/stats"
	"github.com/sluice-kafka/sluice/bench/work"
)

// report is the JSON file: everything that was measured, nothing summed up.
type report struct {
	When    time.Time         `json:"when"`
	Machine string            `json:"machine"`
	Go      string            `json:"go"`
	Options options           `json:"options"`
	Peers   map[string]string `json:"peers"` // versions
	Works   []namedWork       `json:"works"`
	Results []result          `json:"results"`
}

type namedWork struct {
	Name string `json:"name"`
	work.Work
}

// result is one run of one client.
type result struct {
	Group string `json:"group"`
	Work  string `json:"work"`
	Peer  string `json:"peer"`
	Round int    `json:"round"`
	Error string `json:"error,omitempty"` // then the figures do not count
	figures
	Sink *sinkFigures `json:"sink,omitempty"`
}

func newReport(o options, works []work.Work, peers []peer.Peer) *report {
	r := &report{
		When: time.Now().UTC().Truncate(time.Second), Options: o, Go: runtime.Version(),
		Machine: fmt.Sprintf("%s/%s, %s, %d CPUs", runtime.GOOS, runtime.GOARCH, processor(), runtime.NumCPU()),
		Peers:   map[string]string{},
	}
	for _, p := range peers {
		r.Peers[p.Name] = p.Version()
	}
	for _, w := range works {
		r.Works = append(r.Works, namedWork{w.Name(), w})
	}
	return r
}

func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

func (r *report) save(path string) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

func load(path string) (*report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r report
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &r, nil
}

// judge says what makes the figures worthless: they are for records that
// arrived, once and whole.
func (r *result) judge() error {
	var errs []error
	if r.Failed > 0 {
		errs = append(errs, fmt.Errorf("%d records failed: %s", r.Failed, r.Reason))
	}
	if s := r.Sink; s != nil && r.Peer != "null" {
		if s.OutOfOrder > 0 || s.Corrupt > 0 {
			errs = append(errs, fmt.Errorf("the sink refused %d batches as out of order and %d as corrupt", s.OutOfOrder, s.Corrupt))
		}
		if s.Records < r.Acked || (r.Flushed && s.Records != r.Acked) {
			errs = append(errs, fmt.Errorf("%d records acknowledged, %d arrived", r.Acked, s.Records))
		}
	}
	return errors.Join(errs...)
}

// A metric is one figure of a run; NaN if the run does not have it.
type metric struct {
	Name, Unit string
	Of         func(*result, namedWork) float64
	Lower      bool // is better
}

var (
	cpuPerRecord = metric{"CPU", "ns/record", func(r *result, _ namedWork) float64 { return perRecord(r, float64(r.CPU)) }, true}
	perSecond    = metric{"rate", "records/s", func(r *result, _ namedWork) float64 { return float64(r.Records) / r.Seconds }, false}
	megabytes    = metric{"throughput", "MB/s", func(r *result, w namedWork) float64 {
		return float64(r.Records) * float64(w.Bytes) / 1e6 / r.Seconds
	}, false}
	cores       = metric{"CPU", "cores", func(r *result, _ namedWork) float64 { return r.CPU.Seconds() / r.Seconds }, true}
	allocs      = metric{"allocations", "/record", func(r *result, _ namedWork) float64 { return perRecord(r, float64(r.Allocs)) }, true}
	batchAllocs = metric{"allocations", "/batch", func(r *result, _ namedWork) float64 {
		return perRecord(r, float64(r.Allocs)) * recordsPerBatch(r)
	}, true}
	batchSize = metric{"batch", "records", func(r *result, _ namedWork) float64 { return recordsPerBatch(r) }, false}
	rss       = metric{"memory", "MiB RSS", func(r *result, _ namedWork) float64 { return float64(r.MaxRSS) / (1 << 20) }, true}
	sinkCPU   = metric{"sink CPU", "ns/record", func(r *result, _ namedWork) float64 {
		if r.Sink == nil || r.Sink.Records == 0 {
			return math.NaN()
		}
		return float64(r.Sink.CPU) / float64(r.Sink.Records)
	}, true}
	p50  = latencyMetric("p50", func(l *latency) time.Duration { return l.P50 })
	p99  = latencyMetric("p99", func(l *latency) time.Duration { return l.P99 })
	p999 = latencyMetric("p99.9", func(l *latency) time.Duration { return l.P999 })
	late = latencyMetric("late p99", func(l *latency) time.Duration { return l.Late })
)

func latencyMetric(name string, of func(*latency) time.Duration) metric {
	return metric{name, "ms", func(r *result, _ namedWork) float64 {
		if r.Latency == nil {
			return math.NaN()
		}
		return of(r.Latency).Seconds() * 1e3
	}, true}
}

func perRecord(r *result, v float64) float64 {
	if r.Records == 0 {
		return math.NaN()
	}
	return v / float64(r.Records)
}

func recordsPerBatch(r *result) float64 {
	if r.Sink == nil || r.Sink.Batches == 0 {
		return math.NaN()
	}
	return float64(r.Sink.Records) / float64(r.Sink.Batches)
}

// values returns a metric of a peer in a work, by round; NaN where there is none.
func (r *report) values(w namedWork, peer string, m metric) []float64 {
	vs := make([]float64, r.Options.Rounds)
	for i := range vs {
		vs[i] = math.NaN()
	}
	for i := range r.Results {
		x := &r.Results[i]
		if x.Group == w.Group && x.Work == w.Name && x.Peer == peer && x.Error == "" && x.Round < len(vs) {
			vs[x.Round] = m.Of(x, w)
		}
	}
	return vs
}

func (r *report) spread(w namedWork, peer string, m metric) stats.Spread {
	return stats.Of(r.values(w, peer, m))
}
