package faultproxy

import (
	"bytes"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// arrival is a piece that a flow delivered, and when.
type arrival struct {
	text string
	at   time.Duration
}

// bench runs one flow between a pipe that the test writes to and a list of
// arrivals, in virtual time.
type bench struct {
	faults   *faults
	flow     *flow
	in       *io.PipeWriter
	start    time.Time
	arrivals []arrival
	err      error
}

func (b *bench) Write(p []byte) (int, error) {
	b.arrivals = append(b.arrivals, arrival{string(p), time.Since(b.start)})
	return len(p), nil
}

// newBench must be called in a bubble.
func newBench(t *testing.T, dir direction) *bench {
	b := &bench{faults: newFaults(), start: time.Now()}
	var out *io.PipeReader
	out, b.in = io.Pipe()
	f := newFlow(dir, out, b, b.faults, new(atomic.Bool))
	b.flow = f
	go f.read(t.Context())
	go func() { b.err = f.write(t.Context()) }()
	return b
}

func (b *bench) say(t *testing.T, body string) {
	t.Helper()
	if _, err := b.in.Write(message(body)); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func (b *bench) want(t *testing.T, want ...arrival) {
	t.Helper()
	b.in.Close()
	time.Sleep(time.Hour) // of virtual time: all has arrived
	synctest.Wait()
	for i := range want {
		want[i].text = string(message(want[i].text))
	}
	if b.err != nil || !slices.Equal(b.arrivals, want) {
		t.Errorf("error %v, arrivals:\n%v\nwant:\n%v", b.err, b.arrivals, want)
	}
}

const ms = time.Millisecond

// A line, not a brake: what is sent at the same time arrives at the same time.
func TestDelayLineKeepsBandwidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, requests)
		b.faults.setDelay(50 * ms)
		var want []arrival
		for range 1000 {
			b.say(t, "x")
			want = append(want, arrival{"x", 50 * ms})
		}
		time.Sleep(10 * ms)
		b.say(t, "later")
		b.want(t, append(want, arrival{"later", 60 * ms})...)
	})
}

func TestShorterDelayOvertakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, responses)
		b.faults.setDelay(50 * ms)
		b.say(t, "slow")
		b.faults.setDelay(0)
		b.say(t, "quick")
		b.want(t, arrival{"slow", 50 * ms}, arrival{"quick", 50 * ms})
	})
}

func TestPauseHoldsEverythingUntilResume(t *testing.T) {
	for _, dir := range []direction{requests, responses} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, dir)
			b.faults.setDelay(10 * ms)
			b.say(t, "on the line")
			b.faults.gate.shut()
			b.faults.gate.shut()
			b.say(t, "after")
			time.Sleep(100 * ms)
			b.faults.gate.open()
			b.faults.gate.open()
			b.want(t, arrival{"on the line", 100 * ms}, arrival{"after", 100 * ms})
		})
	}
}

// What is under way when the test orders it has not reached the client.
func TestDroppingCountsFromArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, responses)
		b.faults.setDelay(10 * ms)
		b.say(t, "under way")
		b.faults.setDropping(true)
		time.Sleep(20 * ms)
		b.say(t, "dropped when it arrives")
		time.Sleep(20 * ms)
		b.faults.setDropping(false)
		b.say(t, "through")
		b.want(t, arrival{"through", 50 * ms})
		if got := b.faults.counts(); got.Dropped != 2 || got.Responses != 1 {
			t.Errorf("counts %+v, want 2 dropped and 1 response", got)
		}
	})
}

func TestRequestsFlowWhileResponsesAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, requests)
		b.faults.setDropping(true)
		b.say(t, "request")
		b.want(t, arrival{"request", 0})
	})
}

func TestMessageKeepsTheFateOfItsFirstByte(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, responses)
		half := func(p []byte) {
			b.in.Write(p)
			synctest.Wait()
		}
		begun, condemned := message("begun"), message("condemned")
		half(begun[:2])
		b.faults.setDropping(true)
		half(begun[2:])
		half(condemned[:7])
		b.faults.setDropping(false)
		half(append(condemned[7:], message("after")...))
		b.in.Close()
		synctest.Wait()

		var got []byte
		for _, a := range b.arrivals {
			got = append(got, a.text...)
		}
		if want := append(begun, message("after")...); !bytes.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestLineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine()
		l.put(make([]byte, lineBytes), time.Now())
		full := make(chan bool, 1)
		go func() { full <- l.put([]byte("more"), time.Now()) }()
		synctest.Wait()
		select {
		case <-full:
			t.Fatal("a full line took more")
		default:
		}
		if _, ok := l.take(); !ok {
			t.Fatal("a full line gave nothing")
		}
		if !<-full {
			t.Error("put was refused when there was room")
		}
		l.put(make([]byte, lineBytes), time.Now())
		go func() { full <- l.put([]byte("more"), time.Now()) }()
		synctest.Wait()
		l.reset()
		if <-full {
			t.Error("put on a line that was cut")
		}
	})
}
