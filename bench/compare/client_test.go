package main

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/bench/peer"
	"github.com/sluice-kafka/sluice/bench/sink"
	"github.com/sluice-kafka/sluice/bench/work"
)

func shortWork(rate int) work.Work {
	return work.Work{
		Group: "test", Bytes: 100, Partitions: 2, Codec: "none", Linger: time.Millisecond,
		Batch: 16 << 10, Buffer: 1 << 20, Rate: rate, Brokers: 1,
	}
}

func TestFiguresAreOfWhatArrived(t *testing.T) {
	for _, rate := range []int{0, 2000} {
		for _, name := range []string{"sluice", "kgo", "raw"} {
			b, err := sink.Listen(sink.Config{Partitions: 2})
			if err != nil {
				t.Fatal(err)
			}
			f, err := task{Peer: name, Work: shortWork(rate), Addrs: b.Addrs(), Topic: sink.Topic, Span: 200 * time.Millisecond}.do()
			if err != nil {
				t.Fatal(err)
			}
			r := result{Peer: name, figures: f, Sink: &sinkFigures{Stats: b.Stats()}}
			if err := r.judge(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !f.Flushed || f.Acked != f.Produced || f.Records <= 0 || f.Records > f.Acked || f.CPU <= 0 || f.Seconds < 0.1 || f.MaxRSS < 1<<20 {
				t.Errorf("%s at %d: %+v", name, rate, f)
			}
			if rate > 0 && (f.Latency.P50 <= 0 || f.Latency.P50 > f.Latency.P99 || f.Latency.P99 > f.Latency.Max) {
				t.Errorf("%s at %d: %+v", name, rate, f.Latency)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestJudge(t *testing.T) {
	good := result{Peer: "x", figures: figures{Acked: 10, Flushed: true}, Sink: &sinkFigures{Stats: sink.Stats{Records: 10}}}
	if err := good.judge(); err != nil {
		t.Error(err)
	}
	for want, spoil := range map[string]func(*result){
		"failed":       func(r *result) { r.Failed = 1 },
		"out of order": func(r *result) { r.Sink.OutOfOrder = 1 },
		"corrupt":      func(r *result) { r.Sink.Corrupt = 1 },
		"arrived":      func(r *result) { r.Sink.Records = 9 },
		"11 arrived":   func(r *result) { r.Sink.Records = 11 },
	} {
		r := good
		s := *good.Sink
		r.Sink = &s
		spoil(&r)
		if err := r.judge(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	late := good
	late.Flushed, late.Sink = false, &sinkFigures{Stats: sink.Stats{Records: 11}}
	if err := late.judge(); err != nil {
		t.Errorf("what arrived after the last look is no fault: %v", err)
	}
}

func TestReportOfFailedRounds(t *testing.T) {
	w := shortWork(0)
	kgo, _ := peer.Find("kgo")
	ours, _ := peer.Find("sluice")
	r := newReport(options{Rounds: 3, Span: time.Second, Broker: "sink"}, []work.Work{w}, []peer.Peer{ours, kgo})
	for round, cpu := range []time.Duration{100, 300, 9000} {
		for name, factor := range map[string]time.Duration{"sluice": 1, "kgo": 4} {
			x := result{Group: w.Group, Work: w.Name(), Peer: name, Round: round, figures: figures{Records: 1, Seconds: 1, CPU: cpu * factor, Flushed: true}}
			if round == 2 && name == "sluice" {
				x.Error = "no luck"
			}
			r.Results = append(r.Results, x)
		}
	}
	if s := r.spread(r.Works[0], "sluice", cpuPerRecord); s.N != 2 || s.Median != 200 || s.Max != 300 {
		t.Errorf("%+v", s)
	}
	out := r.text()
	for _, want := range []string{"200 (100-300)", "0.25", "no luck", "failed, round 3"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	dir := t.TempDir()
	path := dir + "/r.json"
	if err := r.save(path); err != nil {
		t.Fatal(err)
	}
	if err := plotFile([]string{"-out", dir, path}); err != nil {
		t.Error(err)
	}
}
