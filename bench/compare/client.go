package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/sluice-kafka/sluice/bench/peer"
	"github.com/sluice-kafka/sluice/bench/stats"
	"github.com/sluice-kafka/sluice/bench/work"
)

// task is what a client process is given.
type task struct {
	Peer    string        `json:"peer"`
	Work    work.Work     `json:"work"`
	Addrs   []string      `json:"addrs"`
	Topic   string        `json:"topic"`
	Span    time.Duration `json:"span"`
	Profile string        `json:"profile,omitempty"`
}

// figures are what a client process saw of itself between two moments of steady
// work; the totals are of its whole life.
type figures struct {
	Seconds float64       `json:"seconds"`
	Records int64         `json:"records"` // acknowledged
	CPU     time.Duration `json:"cpu"`     // user and system
	Allocs  uint64        `json:"allocs"`  // of Go
	GCs     uint32        `json:"gcs"`

	Latency *latency `json:"latency,omitempty"` // of works with a rate
	MaxRSS  int64    `json:"maxRSS"`            // bytes, of the process's whole life

	Produced int64 `json:"produced"`
	Acked    int64 `json:"acked"`
	Failed   int64 `json:"failed"`
	// Reason is the error of the first record that failed.
	Reason string `json:"reason,omitempty"`
	// Flushed says that everything produced had its callback in time after the
	// span. Where it is false the client had more in its buffer than the line takes.
	Flushed bool `json:"flushed"`
}

// latency is from the call of Produce to the callback.
type latency struct {
	P50  time.Duration `json:"p50"`
	P99  time.Duration `json:"p99"`
	P999 time.Duration `json:"p999"`
	Max  time.Duration `json:"max"`
	// Late is the 99th percentile of how late the harness called Produce. A
	// client that blocks makes it late: then latencies look better than they are.
	Late time.Duration `json:"late"`
}

const flushTimeout = 20 * time.Second

// client is a client process: it does a task and prints its figures.
func client(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("client: one argument is wanted, a task")
	}
	var t task
	if err := json.Unmarshal([]byte(args[0]), &t); err != nil {
		return err
	}
	f, err := t.do()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

func (t task) do() (figures, error) {
	p, err := peer.Find(t.Peer)
	if err != nil {
		return figures{}, err
	}
	settle := t.Span / 4
	m := newMeter(t.Work.Rate, settle+t.Span)
	w := t.Work
	c, err := p.Open(peer.Config{
		Addrs: t.Addrs, Topic: t.Topic, Codec: w.Codec, Linger: w.Linger, BatchBytes: w.Batch, BufferBytes: w.Buffer,
		ValueBytes: w.Bytes, Spread: w.Spread, Done: m.done,
	})
	if err != nil {
		return figures{}, err
	}
	s := &source{client: c, meter: m, values: w.Values(), partitions: w.Partitions}
	if err := s.warmUp(); err != nil {
		return figures{}, err
	}
	f, err := t.measure(s, settle)
	if err != nil {
		return figures{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	f.Flushed = c.Flush(ctx) == nil
	if f.Flushed {
		f.Produced, f.Acked, f.Failed = s.produced, m.acked, m.failed
		if m.reason != nil {
			f.Reason = m.reason.Error()
		}
	} else {
		f.Produced, f.Acked = s.produced, m.published.Load()
	}
	if f.Flushed && w.Rate+w.Callers > 0 {
		f.Latency = m.latency(f.first, f.last)
	}
	f.MaxRSS = maxRSS()
	return f.figures, nil // without Close: the process ends
}

type measured struct {
	figures
	first, last int64 // stamps of records produced in the span
}

// measure produces for settle and the span, and looks at both ends of the span.
func (t task) measure(s *source, settle time.Duration) (measured, error) {
	stop, looked := make(chan struct{}), make(chan [2]moment, 1)
	var profile *os.File
	if t.Profile != "" {
		var err error
		if profile, err = os.Create(t.Profile); err != nil {
			return measured{}, err
		}
	}
	began := time.Now()
	go func() {
		var m [2]moment
		time.Sleep(settle)
		if profile != nil {
			_ = pprof.StartCPUProfile(profile)
		}
		m[0] = s.look()
		time.Sleep(time.Until(began.Add(settle + t.Span)))
		m[1] = s.look()
		close(stop)
		if profile != nil {
			pprof.StopCPUProfile()
			_ = profile.Close()
		}
		looked <- m
	}()
	var err error
	if t.Work.Callers > 0 {
		err = s.call(t.Work.Callers, stop)
	} else {
		s.produce(began, t.Work.Rate, stop)
	}
	m := <-looked
	if err != nil {
		return measured{}, err
	}
	if t.Work.Callers > 0 {
		return measured{m[1].since(m[0]), 0, int64(len(s.meter.stamps))}, nil // all of its life: who waits has no backlog
	}
	return measured{m[1].since(m[0]), m[0].stamped, m[1].stamped}, nil
}

func (m *meter) latency(first, last int64) *latency {
	taken := sorted(m.stamps[first:last])
	l := &latency{P50: stats.Quantile(taken, 0.5), P99: stats.Quantile(taken, 0.99), P999: stats.Quantile(taken, 0.999)}
	l.Max = stats.Quantile(taken, 1)
	if len(m.late) > 0 {
		l.Late = stats.Quantile(sorted(m.late[first:last]), 0.99)
	}
	return l
}
