// Package work has the works that clients are compared in.
package work

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Work is one thing to do for every peer.
type Work struct {
	Group      string        `json:"group"`
	Bytes      int           `json:"bytes"` // of a record's value
	Partitions int32         `json:"partitions"`
	Spread     bool          `json:"spread,omitempty"` // records go to the partitions in turn, not as the client's partitioner likes
	Codec      string        `json:"codec"`
	Linger     time.Duration `json:"linger"`
	Batch      int           `json:"batch"`
	Buffer     int64         `json:"buffer"`
	Rate       int           `json:"rate,omitempty"` // records a second; 0 is as many as go
	// Callers is how many goroutines each produce a record and wait for its
	// outcome before the next one, as services do.
	Callers int `json:"callers,omitempty"`

	Brokers int           `json:"brokers"`
	RTT     time.Duration `json:"rtt,omitempty"`
	Service time.Duration `json:"service,omitempty"`
	Serial  bool          `json:"serial,omitempty"`
	Jitter  time.Duration `json:"jitter,omitempty"` // on top of Service
	Tick    time.Duration `json:"tick,omitempty"`
	Window  int32         `json:"window,omitempty"` // learnt by the client; 0 is a stock broker
}

// Groups tells what the works are for, in order.
var Groups = []struct{ Name, Text string }{
	{"rate100", "values of 100 B, as many as go, 1, 8 and 64 partitions: the cost of a record"},
	{"cpu1k", "values of 1 KiB, as many as go, 8 partitions: the cost of a record and its bytes"},
	{"codecs", "100 B and 1 KiB with lz4, zstd and snappy, 8 partitions: does compression use the cores"},
	{"latency", "50,000 records a second of 100 B, no linger, 8 partitions, at no distance and at 10 ms"},
	{"sync", "1, 16, 64 and 256 callers that each wait for their record of 100 B, 6 partitions, no linger, at no distance, 2 ms and 50 ms"},
	{"partitions", "100 B to 1, 64, 1,000 and 10,000 partitions, as the partitioner likes and in turn"},
	{"wan", "1 KiB over 50 ms, learnt window, 1 and 8 partitions, batches of 16 KiB and 1 MiB"},
	{"local", "1 KiB at no distance, 1 and 8 partitions, batches of 16 KiB and 1 MiB: for a real Kafka"},
	{"serial", "1 KiB over 10 ms to a broker that works 0.5 ms on a request, one at a time a connection"},
	{"varying", "1 KiB to a broker on an object store, 1 and 4 partitions: answers take 100 to 400 ms, or 100 to 300 ms from the next tick on"},
}

// base is what works have unless they say otherwise.
var base = Work{
	Bytes: 100, Partitions: 8, Codec: "none", Linger: 5 * time.Millisecond,
	Batch: 128 << 10, Buffer: 64 << 20, Brokers: 1,
}

const (
	learntWindow = 10_000_000
	kib          = 1 << 10
	mib          = 1 << 20
)

// All returns every work, by group.
func All() []Work {
	var ws []Work
	add := func(group string, change func(*Work)) {
		w := base
		w.Group = group
		change(&w)
		ws = append(ws, w)
	}
	for _, n := range []int32{1, 8, 64} {
		add("rate100", func(w *Work) { w.Partitions = n })
	}
	add("cpu1k", func(w *Work) { w.Bytes = kib })
	for _, size := range []int{100, kib} {
		for _, codec := range []string{"lz4", "zstd", "snappy"} {
			add("codecs", func(w *Work) { w.Bytes, w.Codec = size, codec })
		}
	}
	for _, rtt := range []time.Duration{0, 10 * time.Millisecond} {
		add("latency", func(w *Work) { w.Rate, w.Linger, w.RTT = 50_000, 0, rtt })
	}
	for _, rtt := range []time.Duration{0, 2 * time.Millisecond, 50 * time.Millisecond} {
		for _, n := range []int{1, 16, 64, 256} {
			add("sync", func(w *Work) { w.Callers, w.Partitions, w.Linger, w.RTT = n, 6, 0, rtt })
		}
	}
	for _, spread := range []bool{false, true} {
		for _, n := range []int32{1, 64, 1_000, 10_000} {
			add("partitions", func(w *Work) { w.Partitions, w.Spread = n, spread })
		}
	}
	for _, n := range []int32{1, 8} {
		for _, batch := range []int{16 * kib, mib} {
			add("wan", func(w *Work) {
				w.Bytes, w.Partitions, w.Batch, w.RTT, w.Window = kib, n, batch, 50*time.Millisecond, learntWindow
			})
			add("local", func(w *Work) { w.Bytes, w.Partitions, w.Batch = kib, n, batch })
			add("serial", func(w *Work) {
				w.Bytes, w.Partitions, w.Batch = kib, n, batch
				w.RTT, w.Service, w.Serial = 10*time.Millisecond, 500*time.Microsecond, true
			})
		}
	}
	for _, n := range []int32{1, 4} {
		add("varying", func(w *Work) {
			w.Bytes, w.Partitions, w.Service, w.Jitter = kib, n, 100*time.Millisecond, 300*time.Millisecond
		})
		add("varying", func(w *Work) {
			w.Bytes, w.Partitions, w.Service, w.Jitter = kib, n, 100*time.Millisecond, 200*time.Millisecond
			w.Tick = 250 * time.Millisecond
		})
	}
	return ws
}

// Select returns the works of the groups in a list with commas, "all" for all.
// A group may be narrowed to the works whose name has a text in it:
// rate100/64p.
func Select(list string) ([]Work, error) {
	var picked []Work
	for item := range strings.SplitSeq(list, ",") {
		group, part, _ := strings.Cut(strings.TrimSpace(item), "/")
		before := len(picked)
		for _, w := range All() {
			if (group == "all" || w.Group == group) && strings.Contains(w.Name(), part) {
				picked = append(picked, w)
			}
		}
		if len(picked) == before {
			return nil, fmt.Errorf("work: no %q, there are %s", item, strings.Join(groupNames(), ", "))
		}
	}
	return picked, nil
}

func groupNames() []string {
	var names []string
	for _, g := range Groups {
		names = append(names, g.Name)
	}
	return append(names, "all")
}

// Text returns what a group is for.
func Text(group string) string {
	for _, g := range Groups {
		if g.Name == group {
			return g.Text
		}
	}
	return ""
}

// Name names a work by what makes it different from others of its group.
func (w Work) Name() string {
	parts := []string{size(w.Bytes), fmt.Sprintf("%dp", w.Partitions)}
	if w.Spread {
		parts = append(parts, "in turn")
	}
	if w.Codec != "none" {
		parts = append(parts, w.Codec)
	}
	if w.Batch != base.Batch {
		parts = append(parts, "batch "+size(w.Batch))
	}
	if w.RTT > 0 {
		parts = append(parts, "rtt "+w.RTT.String())
	}
	if w.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%d/s", w.Rate))
	}
	if w.Callers > 0 {
		parts = append(parts, fmt.Sprintf("%d callers", w.Callers))
	}
	if w.Service > 0 {
		parts = append(parts, "service "+w.Service.String())
	}
	if w.Jitter > 0 {
		parts = append(parts, "jitter "+w.Jitter.String())
	}
	if w.Tick > 0 {
		parts = append(parts, "ticks "+w.Tick.String())
	}
	return strings.Join(slices.Clip(parts), ", ")
}

func size(n int) string {
	switch {
	case n >= mib && n%mib == 0:
		return fmt.Sprintf("%d MiB", n/mib)
	case n >= kib && n%kib == 0:
		return fmt.Sprintf("%d KiB", n/kib)
	}
	return fmt.Sprintf("%d B", n)
}
