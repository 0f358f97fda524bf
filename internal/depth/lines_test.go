package depth

import (
	"math/rand/v2"
	"testing"
	"time"
)

// situation is a line and a producer.
type situation struct {
	name         string
	line         line
	buffer       int           // requests
	period, busy time.Duration // of the producer
	share        float64       // at least, of what a pipeline without a limit gets
	waits        time.Duration // at the broker, at most, on average
}

const (
	us = time.Microsecond
	ms = time.Millisecond
)

var situations = []situation{
	{name: "far and fast", line: line{rtt: 50 * ms, service: 100 * us}, buffer: 5000, share: 0.97, waits: 40 * ms},
	{name: "near and slow", line: line{rtt: 200 * us, service: 10 * ms}, buffer: 5000, share: 0.97, waits: 120 * ms},
	// What an object store takes is as long as it is, however much is in flight.
	{name: "varying", line: line{rtt: 100 * ms, jitter: 300 * ms, service: us}, buffer: 512, share: 0.97, waits: ms},
	{name: "varying and deep", line: line{rtt: 100 * ms, jitter: 300 * ms, service: us}, buffer: 5000, share: 0.97, waits: ms},
	{name: "varying and full", line: line{rtt: 100 * ms, jitter: 300 * ms, service: ms}, buffer: 5000, share: 0.9, waits: 400 * ms},
	{name: "ticks", line: line{rtt: 100 * ms, tick: 250 * ms, jitter: 200 * ms, service: us}, buffer: 512, share: 0.97, waits: ms},
	// Without a limit a queue at the broker bridges the silence after a loss. It would
	// have to be one of a second, all the time.
	{name: "lossy", line: line{rtt: 10 * ms, service: 100 * us, stall: 10 * time.Second}, buffer: 5000, share: 0.9, waits: 15 * ms},
	{name: "lossy and far", line: line{rtt: 100 * ms, service: ms, stall: 10 * time.Second}, buffer: 5000, share: 0.87, waits: 100 * ms},
	{name: "throttled", line: line{rtt: 10 * ms, service: 100 * us, quota: 2 * ms}, buffer: 512, share: 0.9, waits: 100 * ms},
	{name: "pauses", line: line{rtt: 50 * ms, service: 100 * us}, buffer: 1000, period: 5 * time.Second, busy: 2 * time.Second, share: 0.94, waits: 40 * ms},
	{name: "pauses and varying", line: line{rtt: 100 * ms, jitter: 300 * ms, service: us}, buffer: 512, period: 5 * time.Second, busy: 2 * time.Second, share: 0.95, waits: ms},
}

func (s situation) flow(fixed int) *flow {
	f := newFlow(newLine(s.line), fixed)
	f.buffer, f.period, f.busy = s.buffer, s.period, s.busy
	return f
}

func TestDepthInSituations(t *testing.T) {
	const settling, span = 40 * time.Second, time.Minute
	for _, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			f, whole := s.flow(0), s.flow(1<<30)
			run(settling, f)
			run(settling, whole)
			got, want := measure(span, f)[0], measure(span, whole)[0]
			t.Logf("%.3f of the rate without a limit, %v at the broker, %v without a limit", got.rate/want.rate, got.waited, want.waited)
			if got.rate < s.share*want.rate {
				t.Errorf("%.0f requests a second, %.0f without a limit: less than %v of it", got.rate, want.rate, s.share)
			}
			if got.waited > s.waits {
				t.Errorf("requests wait for %v at the broker, want %v at most", got.waited, s.waits)
			}
		})
	}
}

// Requests that are answered at ticks come in bursts, and a window that is shorter than
// the longest answer time has one too many or too few.
func TestDepthWithTicksHoweverTheyFall(t *testing.T) {
	const seeds = 10
	var sum float64
	for seed := range uint64(seeds) {
		for _, s := range situations {
			if s.name != "ticks" {
				continue
			}
			f, whole := s.flow(0), s.flow(1<<30)
			f.line.rand, whole.line.rand = rand.New(rand.NewPCG(seed, 9)), rand.New(rand.NewPCG(seed, 9))
			run(4*time.Second, f)
			run(4*time.Second, whole)
			got, want := measure(10*time.Second, f)[0].rate, measure(10*time.Second, whole)[0].rate
			t.Logf("seed %d: %.3f of the rate without a limit", seed, got/want)
			sum += got / want
		}
	}
	if mean := sum / seeds; mean < 0.9 {
		t.Errorf("%.3f of the rate without a limit, on average", mean)
	}
}

// Where an answer takes up to 400 ms the first seconds count, too.
func TestDepthIsFoundSoon(t *testing.T) {
	for _, name := range []string{"varying", "ticks"} {
		for _, s := range situations {
			if s.name != name {
				continue
			}
			f, whole := s.flow(0), s.flow(1<<30)
			run(6*time.Second, f)
			run(6*time.Second, whole)
			got, want := measure(4*time.Second, f)[0].rate, measure(4*time.Second, whole)[0].rate
			if got < 0.95*want {
				t.Errorf("%s: %.0f requests a second after 6 s, %.0f without a limit", name, got, want)
			}
		}
	}
}

// Producers at one broker share it, also if one was there before.
func TestProducersShareALine(t *testing.T) {
	for _, c := range []line{{rtt: 50 * ms, service: 200 * us}, {rtt: 5 * ms, service: 200 * us}, {rtt: 100 * ms, service: ms}} {
		l := newLine(c)
		a, b := newFlow(l, 0), newFlow(l, 0)
		run(10*time.Second, a)
		b.now = a.now
		run(30*time.Second, a, b)
		both := measure(2*time.Minute, a, b)
		t.Logf("%v and %v: %.0f and %.0f requests a second wait for %v and %v",
			c.rtt, c.service, both[0].rate, both[1].rate, both[0].waited, both[1].waited)
		if x, y := both[0].rate, both[1].rate; max(x, y) > 2*min(x, y) {
			t.Errorf("%.0f and %.0f requests a second", x, y)
		}
		if busy := (both[0].rate + both[1].rate) * l.service.Seconds(); busy < 0.97 {
			t.Errorf("the broker was busy for %.3f of the time", busy)
		}
		if most := 2*l.rtt + 20*ms; both[0].waited > most || both[1].waited > most {
			t.Errorf("requests wait for %v and %v at the broker", both[0].waited, both[1].waited)
		}
	}
}

// A producer has a near broker and a far one: each connection is as if alone.
func TestTwoLines(t *testing.T) {
	lines := []line{{rtt: ms, service: 100 * us}, {rtt: 400 * ms, service: 100 * us}}
	var alone []figures
	for _, l := range lines {
		f := newFlow(newLine(l), 0)
		run(30*time.Second, f)
		alone = append(alone, measure(10*time.Second, f)[0])
	}
	a, b := newFlow(newLine(lines[0]), 0), newFlow(newLine(lines[1]), 0)
	run(30*time.Second, a, b)
	for i, got := range measure(10*time.Second, a, b) {
		if got != alone[i] {
			t.Errorf("line %d: %+v beside another one, %+v alone", i, got, alone[i])
		}
		if busy := got.rate * lines[i].service.Seconds(); busy < 0.97 {
			t.Errorf("line %d: the broker was busy for %.3f of the time", i, busy)
		}
	}
}

// Near brokers stop now and then, as does this side: for a garbage collector, or for
// other work. Requests take 0.3 ms, and stops 0.1 to 4 ms.
func TestDepthNearWithStops(t *testing.T) {
	l := newLine(line{rtt: 200 * us, service: 10 * us, stall: 20 * ms, stalls: [2]time.Duration{100 * us, 4 * ms}})
	f := newFlow(l, 0)
	run(2*time.Second, f)
	var got float64
	for range 5 {
		got += measure(2*time.Second, f)[0].rate / 5
	}
	whole := newFlow(newLine(*l), 1<<30)
	whole.buffer = 500
	run(2*time.Second, whole)
	want := measure(10*time.Second, whole)[0].rate
	if got < 0.88*want {
		t.Errorf("%.0f requests a second, %.0f without a limit", got, want)
	}
}
