package depth

import (
	"testing"
	"time"
)

// served is how much of its time the broker is busy over the span.
func served(span time.Duration, f *flow) float64 {
	return measure(span, f)[0].rate * f.line.service.Seconds()
}

func TestDepthIsWhatKeepsTheBrokerBusy(t *testing.T) {
	for _, c := range []struct {
		name         string
		rtt, service time.Duration
	}{
		{"far and fast", 50 * time.Millisecond, 100 * time.Microsecond},
		{"far and slow", 50 * time.Millisecond, 5 * time.Millisecond},
		{"farther", 300 * time.Millisecond, time.Millisecond},
		{"near", 200 * time.Microsecond, 100 * time.Microsecond},
		{"near and slow", 200 * time.Microsecond, 10 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFlow(newLine(line{rtt: c.rtt, service: c.service}), 0)
			run(20*time.Second, f)
			useful := int(c.rtt/c.service) + 1
			for range 10 {
				run(4*time.Second, f)
				if got := f.usual(); got < useful || got > 2*useful+40 {
					t.Errorf("depth %d where %d requests fill the line", got, useful)
				}
			}
			if busy := served(2*time.Minute, f); busy < 0.97 {
				t.Errorf("the broker was busy for %.3f of the time", busy)
			}
		})
	}
}

// A line that gets ten times slower, faster, longer or shorter: after so many of its
// longest answer times the broker is busy again, and no more waits than before.
func TestDepthFollowsChange(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after line
		within        int
	}{
		{"faster", line{rtt: 50 * time.Millisecond, service: time.Millisecond}, line{rtt: 50 * time.Millisecond, service: 100 * time.Microsecond}, 20},
		{"slower", line{rtt: 50 * time.Millisecond, service: 100 * time.Microsecond}, line{rtt: 50 * time.Millisecond, service: time.Millisecond}, 20},
		{"longer", line{rtt: 20 * time.Millisecond, service: time.Millisecond}, line{rtt: 200 * time.Millisecond, service: time.Millisecond}, 60},
		{"shorter", line{rtt: 200 * time.Millisecond, service: time.Millisecond}, line{rtt: 20 * time.Millisecond, service: time.Millisecond}, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFlow(newLine(c.before), 0)
			run(30*time.Second, f)
			longest := time.Duration(0)
			f.seen = func(r ride) { longest = max(longest, r.answered.Sub(r.written)) }
			f.line.rtt, f.line.service = c.after.rtt, c.after.service
			run(time.Second, f)
			run(time.Duration(c.within)*longest-time.Second, f)
			useful := int(c.after.rtt/c.after.service) + 1
			if got := f.usual(); got < useful || got > 2*useful+40 {
				t.Errorf("depth %d after %d answer times of %v, where %d requests fill the line", got, c.within, longest, useful)
			}
			if busy := served(time.Minute, f); busy < 0.97 {
				t.Errorf("the broker was busy for %.3f of the time", busy)
			}
		})
	}
}

func TestDepthStaysWhereNothingWasHeldBack(t *testing.T) {
	d := New(0, epoch)
	now := epoch
	for range 1000 {
		d.Answered(now, now.Add(time.Millisecond), 100)
		now = now.Add(2 * time.Millisecond)
	}
	if d.Limit() != first {
		t.Errorf("depth %d after answers to one request at a time, want %d", d.Limit(), first)
	}
}

// A producer that fills the limit for moments, and has nothing in between, delivers
// what it makes: that is no reason for a lower limit, neither after a climb nor else.
func TestDepthStaysWhereTheApplicationPauses(t *testing.T) {
	f := newFlow(newLine(line{rtt: 50 * ms, service: 100 * us}), 0)
	for range 20000 {
		f.rule.Held()
		f.rule.Starved()
		f.now = f.now.Add(10 * ms)
		f.rule.Answered(f.now.Add(-f.line.rtt), f.now, 100)
		if f.rule.Limit() < first {
			t.Fatalf("depth %d with a request in 10 ms, want %d at least", f.rule.Limit(), first)
		}
	}
	f = newFlow(newLine(*f.line), 0)
	run(5*time.Second, f)
	before := f.usual()
	for range 500 {
		f.rule.Held()
		f.rule.Starved()
		f.now = f.now.Add(10 * ms)
		f.rule.Answered(f.now.Add(-f.line.rtt), f.now, 100)
		if f.rule.Limit() < before {
			t.Fatalf("depth %d with a request in 10 ms, %d before", f.rule.Limit(), before)
		}
	}
}

func TestDepthFixedByTheUser(t *testing.T) {
	f := newFlow(newLine(line{rtt: 50 * time.Millisecond, service: time.Millisecond}), 7)
	run(time.Minute, f)
	if f.rule.Limit() != 7 || len(f.rides) > 7 {
		t.Errorf("depth %d, %d in flight, want 7", f.rule.Limit(), len(f.rides))
	}
}

// Where nothing waits the limit climbs to the most, and the line is hardly ever
// looked at with less.
func TestDepthOnAClearLine(t *testing.T) {
	f := newFlow(newLine(line{rtt: 50 * time.Millisecond, service: time.Microsecond}), 0)
	f.buffer = 1 << 30
	run(20*f.line.rtt, f)
	if want := 64 << 6; f.rule.Limit() < want {
		t.Errorf("a limit of %d after 20 round trips, want %d at least", f.rule.Limit(), want)
	}
	run(100*f.line.rtt, f)
	if f.usual() != most {
		t.Errorf("a limit of %d, nothing waits with %d", f.usual(), most)
	}
	whole := newFlow(newLine(*f.line), most)
	whole.buffer = f.buffer
	run(time.Second, whole)
	got, want := measure(100*f.line.rtt, f)[0].rate, measure(100*f.line.rtt, whole)[0].rate
	if got < 0.98*want {
		t.Errorf("%.0f requests a second, %.0f with a limit of %d all the time", got, want, most)
	}
}

// A look at half the limit ends once the application has nothing to send: what it
// sends next is not held back.
func TestLookEndsWithThePause(t *testing.T) {
	f := newFlow(newLine(line{rtt: 50 * time.Millisecond, service: time.Millisecond}), 0)
	run(5*time.Second, f)
	for begin := f.now; f.rule.phase != falling; run(f.line.rtt, f) {
		if f.now.Sub(begin) > time.Minute {
			t.Fatal("no look in a minute")
		}
	}
	want := f.usual()
	f.rule.Starved()
	if got := f.rule.Limit(); got != want {
		t.Errorf("a limit of %d after a pause, want %d", got, want)
	}
}

// Requests of more partitions are larger and fewer. What counts is bytes.
func TestDepthGoesByBytes(t *testing.T) {
	f := newFlow(newLine(line{rtt: 50 * time.Millisecond, service: time.Millisecond}), 0)
	run(20*time.Second, f)
	before := f.usual()
	f.sized = func() int64 { return 64_000 / int64(f.rule.Limit()) } // in flight is as much whatever the limit
	run(20*time.Second, f)
	if got := f.usual(); got >= before/2 {
		t.Errorf("depth %d where few large requests bring as much, %d before", got, before)
	}
}

// A broker that stands still makes every request after that wait, though the line is
// 1 ms long.
func TestPaceAfterAStall(t *testing.T) {
	f := newFlow(newLine(line{rtt: time.Millisecond, service: 10 * time.Microsecond}), 0)
	run(memory-10*time.Millisecond, f)
	const still = 25 * time.Second // below request.timeout.ms
	f.line.free = f.now.Add(still)
	for i := range f.rides {
		f.rides[i].answered = f.rides[i].answered.Add(still)
	}
	run(still+10*time.Millisecond, f)
	if p := f.rule.Pace(); p > 2*leastPace {
		t.Errorf("pace %v on a line of %v", p, f.line.rtt)
	}
	f.line.rtt = 100 * time.Millisecond // another route, which is believed after a while
	run(3*memory, f)
	if p := f.rule.Pace(); p != mostPace {
		t.Errorf("pace %v on a line of %v", p, f.line.rtt)
	}
}
