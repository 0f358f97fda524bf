package flight

import (
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/throttle"
)

// bench is a shell whose batches have 10 records each.
type bench struct {
	queue
	own      Owner
	at       Leader
	sharing  Sharing
	encoding bool
	resolved []throttle.Resolution
	why      []Cause
	cut      []int32
}

func newBench(lane bool) *bench {
	b := &bench{at: Leader{1, 1}, sharing: Sharing{Since: noon}}
	b.own = NewOwner(b, Options{
		ProducerIDExpiration: day, RetryBackoff: 100 * time.Millisecond, RetryBackoffMax: time.Second, ZombieSpan: ZombieSpan, Lane: lane,
	})
	return b
}

func (b *bench) Resolve(r throttle.Resolution, why Cause) {
	b.resolved, b.why = append(b.resolved, r), append(b.why, why)
	for range r.NotWritten.Len() + r.Unknown.Len() + r.Written.Len() {
		b.own.Memory.Resolved(b.queue[0])
		b.queue = b.queue[1:]
	}
}

func (b *bench) Recut(left int32) {
	b.cut = append(b.cut, left)
	b.queue = append(queue{{}}, b.queue...)
}
func (b *bench) Close()           {}
func (b *bench) Encoding() bool   { return b.encoding }
func (b *bench) Leader() Leader   { return b.at }
func (b *bench) Sharing() Sharing { return b.sharing }
func (b *bench) Jitter() float64  { return 0.5 }

// admit adds n batches.
func (b *bench) admit(n int) {
	for range n {
		h := &History{}
		b.queue = append(b.queue, h)
		b.own.Admit(h, 10, ms(noon), ms(noon), noon)
	}
}

// send writes what may be written.
func (b *bench) send() (n int) {
	for w := b.own.Window; ; n++ {
		s, hold := w.Peek()
		if hold != throttle.Ready {
			return n
		}
		w.Commit()
		b.queue[s.Batch-w.State().Una].Sent(noon)
	}
}

// doubt begins an epoch with a success, and leaves n batches in doubt.
func (b *bench) doubt(n int) {
	w := b.own.Window
	w.SetProducer(7, 0)
	w.Bind(throttle.Limits{})
	b.admit(1)
	b.send()
	r := w.Settle(0, throttle.Success, 0)
	b.own.Succeeded(b.queue[0], -1, ms(noon), noon)
	b.Resolve(r, Answered)
	b.admit(n)
	b.send()
	b.die()
}

// die is the end of a connection, and the beginning of the next one.
func (b *bench) die() {
	for _, h := range b.queue {
		h.Lost()
	}
	r := b.own.Window.Lost()
	b.own.Doubtful(r)
	b.own.Window.Bind(throttle.Limits{})
	b.own.Bound()
}

func (b *bench) ask(t *testing.T) (number uint64) {
	t.Helper()
	number, ok := b.own.Asks(true, noon)
	if !ok || !b.own.Waits() {
		t.Fatalf("it does not ask: %+v", b.own.inquiry)
	}
	return number
}

func TestAsksBeforeAReplay(t *testing.T) {
	b := newBench(false)
	b.doubt(2)
	number := b.ask(t)
	var fx Effects
	if !b.own.Heard(number, true, Word{Answered: true, Known: true, Last: 29}, true, noon, &fx) || fx.Found != throttle.FoundPlace {
		t.Errorf("found %v", fx.Found)
	}
	if s, hold := b.own.Window.Peek(); hold != throttle.Ready || s.Batch != 2 {
		t.Errorf("the replay begins at %d (%v)", s.Batch, hold)
	}
}

// A partition that moves to another broker before the answer came has it asked, and
// the broken connection of another question does not count against that.
func TestAsksAgainWhereItMoves(t *testing.T) {
	b := newBench(false)
	b.doubt(2)
	b.ask(t)
	b.die()
	b.ask(t)
	b.die()
	number := b.ask(t)
	b.own.Window.Unbind()
	b.own.Left()
	b.own.Window.Bind(throttle.Limits{})
	b.own.Bound()
	var fx Effects
	if b.own.Heard(number, false, Word{Answered: true}, true, noon, &fx) {
		t.Error("the former broker's answer counts")
	}
	b.ask(t)
}

func TestGoesWithoutAfterThreeQuestions(t *testing.T) {
	for _, lane := range []bool{false, true} {
		b := newBench(lane)
		b.own.Window.SetProducer(7, 0)
		b.own.state = wanted
		for range 3 {
			b.ask(t)
			b.own.Bound()
		}
		if _, ok := b.own.Asks(true, noon); ok != lane {
			t.Errorf("lane %v asks a fourth time: %v", lane, ok)
		}
	}
}

// The answer to a question whose matter was given up is none to the next one.
func TestNumbersAreNotUsedAgain(t *testing.T) {
	b := newBench(false)
	b.doubt(1)
	before := b.ask(t)
	b.own.Abandon()
	b.own.want()
	if now := b.ask(t); now == before {
		t.Error("the same number again")
	}
	var fx Effects
	if b.own.Heard(before, true, Word{Answered: true}, true, noon, &fx) {
		t.Error("the old answer is taken")
	}
}

// What a broker lost counts at once if it gave the last success. From another one
// it counts once it has said so for longer than a deposed leader goes on.
func TestSuspectsDeposedLeaders(t *testing.T) {
	gone := Word{Answered: true}
	b := newBench(false)
	b.doubt(1)
	var fx Effects
	b.own.Heard(b.ask(t), true, gone, true, noon, &fx)
	if fx.Read.Kind != ReadBatches || fx.Read.From != 10 {
		t.Errorf("the one that gave the success: %+v", fx)
	}
	b = newBench(false)
	b.doubt(1)
	b.at = Leader{2, 2}
	for now := noon; ; now = now.Add(time.Second) {
		fx = Effects{}
		b.own.Heard(b.ask(t), true, gone, true, now, &fx)
		if fx.Read.Kind != NoRead {
			if span := now.Sub(noon); span < ZombieSpan || span > ZombieSpan+time.Second {
				t.Errorf("believed after %v", span)
			}
			break
		}
		if _, pausing := b.own.Pause.Until(now); !pausing || !fx.Refresh {
			t.Fatal("it asks again at once, of the same leader")
		}
	}
}

// Only a batch that is in the log itself is proved by reading it, from the oldest on.
func TestReadBatches(t *testing.T) {
	for name, tc := range map[string]struct {
		seen    []LogBatch
		written uint64
	}{
		"none":            {nil, 0},
		"the oldest":      {[]LogBatch{{0, 10, 10}}, 1},
		"two":             {[]LogBatch{{0, 10, 10}, {0, 20, 20}}, 2},
		"the second only": {[]LogBatch{{0, 20, 20}}, 0},
		"another epoch":   {[]LogBatch{{1, 10, 10}}, 0},
	} {
		b := newBench(false)
		b.doubt(3)
		var fx Effects
		b.own.Heard(b.ask(t), true, Word{Answered: true}, true, noon, &fx)
		b.resolved = nil
		if !b.own.Read(fx.Read.Number, Findings{Batches: tc.seen}, noon, &fx) || !fx.Gone {
			t.Fatalf("%s: not waited for", name)
		}
		written, lost := uint64(0), uint64(0)
		for _, r := range b.resolved {
			written, lost = written+r.Written.Len(), lost+r.Unknown.Len()
		}
		if written != tc.written || lost != 3-tc.written {
			t.Errorf("%s: %d written, %d unknown", name, written, lost)
		}
	}
}
