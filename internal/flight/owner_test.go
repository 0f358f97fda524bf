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
	moving   bool
	resolved []throttle.Resolution
	stopped  Cause
}

func newBench(lane bool) *bench {
	b := &bench{at: Leader{1, 1}, sharing: Sharing{Since: noon}}
	b.own = NewOwner(b, Options{
		ProducerIDExpiration: day, RetryBackoff: 100 * time.Millisecond, RetryBackoffMax: time.Second, ZombieSpan: ZombieSpan, DeliveryTimeout: time.Minute, RequestTimeout: time.Second,
		Lane: lane,
	})
	return b
}

func (b *bench) Resolve(r throttle.Resolution, _ Cause) {
	b.resolved = append(b.resolved, r)
	for range r.NotWritten.Len() + r.Unknown.Len() + r.Written.Len() {
		b.own.Memory.Resolved(b.queue[0])
		b.queue = b.queue[1:]
	}
}

func (b *bench) Cut(int32)      { b.queue = append(queue{{}}, b.queue...) }
func (b *bench) Close()         {}
func (b *bench) Blame(Cause)    {}
func (b *bench) Records() int32 { return 10 }
func (b *bench) Moving() bool   { return b.moving }
func (b *bench) Unbind()        { b.moving = false }
func (b *bench) Stop(why Cause) { b.stopped = why }

// Oldest says that batches were made at noon.
func (b *bench) Oldest() (created time.Time, ok bool) { return noon, len(b.queue) > 0 }
func (b *bench) Encoding() bool                       { return b.encoding }
func (b *bench) Leader() Leader                       { return b.at }
func (b *bench) Sharing() Sharing                     { return b.sharing }
func (b *bench) Jitter() float64                      { return 0.5 }

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

// begin begins an epoch with a success.
func (b *bench) begin() {
	w := b.own.Window
	w.SetProducer(7, 0)
	w.Bind(throttle.Limits{})
	b.admit(1)
	b.send()
	b.own.Settle(0, b.queue[0], Verdict{}, 0, -1, ms(noon), noon, new(Effects))
	b.resolved = nil
}

// doubt leaves n batches in doubt behind a success.
func (b *bench) doubt(n int) {
	b.begin()
	b.admit(n)
	b.send()
	b.die()
}

// die is the end of a connection, and the beginning of the next one.
func (b *bench) die() {
	b.own.Lost(noon, new(Effects))
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
	b.moving = true
	b.own.Follow(true, noon, new(Effects))
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
	for now := noon; ; now = now.Add(time.Second) { // no deadline comes that soon
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

// What waits is done once nothing is outstanding, and the most serious comes first.
func TestSettleDown(t *testing.T) {
	b := newBench(false)
	b.begin()
	b.admit(2)
	b.send()
	b.own.Recreated(noon, new(Effects))
	if b.own.Stop(LaneFailed); len(b.resolved) != 0 || !b.own.Resting() {
		t.Fatalf("given up with attempts outstanding: %+v", b.resolved)
	}
	b.own.Settle(1, b.queue[0], Verdict{Attempt: throttle.Uncertain}, -1, -1, ms(noon), noon, new(Effects))
	b.own.Settle(2, b.queue[1], Verdict{Attempt: throttle.NotAppended}, -1, -1, ms(noon), noon, new(Effects))
	last := b.resolved[len(b.resolved)-1]
	if len(b.queue) != 0 || last.Unknown.Len() != 1 || last.NotWritten.Len() != 1 || b.own.Resting() {
		t.Errorf("%+v", last)
	}
}

func TestDeadlines(t *testing.T) {
	b := newBench(false)
	b.doubt(1)
	late := noon.Add(time.Minute)
	if b.own.Due(late.Add(-1)) || !b.own.Due(late) || b.own.Overdue(late) || !b.own.Overdue(late.Add(time.Second)) {
		t.Error("due at another time")
	}
	b.encoding = true
	if b.own.SettleDown(late, new(Effects)); len(b.queue) != 1 {
		t.Error("given up while it is with the encoders")
	}
	b.encoding = false
	if b.own.SettleDown(late, new(Effects)); len(b.queue) != 0 || b.own.Wants() {
		t.Error("not given up, or still to be asked about")
	}
}
