package brokermodel

import (
	"math"
	"testing"
)

// The tables below are what Apache Kafka 4.4.0 was seen to answer, stock and
// taught KIP-758; internal/realkafka asks a real broker the same.

const maxSequence = math.MaxInt32

// append10 is a producer that appended n batches of ten records from sequence
// first on, batch i at offset 100 + 10 i.
func append10(epoch int16, first int32, n int) Producer {
	var p Producer
	for i := range n {
		p.Appended(epoch, Add(first, int32(10*i)), 10, int64(100+10*i))
	}
	return p
}

func reloaded(p Producer) Producer {
	p.Reload()
	return p
}

type ask struct {
	name         string
	rules        Rules
	state        Producer
	neverWritten bool
	epoch        int16
	first, count int32
	want         Verdict
	offset       int64 // for Recognised
}

func (a ask) run(t *testing.T) {
	want := int64(-1)
	if a.want == Recognised {
		want = a.offset
	}
	before := a.state
	got, offset := a.rules.Judge(&a.state, a.neverWritten, a.epoch, a.first, a.count)
	if got != a.want || offset != want {
		t.Errorf("got verdict %d at %d, want %d at %d", got, offset, a.want, want)
	}
	if a.state != before {
		t.Error("judging changed the state")
	}
}

var ten = append10(3, 0, 10) // sequences 0 to 99

func TestStockBroker(t *testing.T) {
	for _, a := range []ask{
		{name: "the next batch", state: ten, epoch: 3, first: 100, count: 7, want: Append},
		{name: "duplicate of the last", state: ten, epoch: 3, first: 90, count: 10, want: Recognised, offset: 190},
		{name: "duplicate of the fifth last", state: ten, epoch: 3, first: 50, count: 10, want: Recognised, offset: 150},
		{name: "duplicate of the sixth last", state: ten, epoch: 3, first: 40, count: 10, want: OutOfOrder},
		{name: "cut anew: two batches as one", state: ten, epoch: 3, first: 80, count: 20, want: OutOfOrder},
		{name: "cut anew: half of one", state: ten, epoch: 3, first: 90, count: 5, want: OutOfOrder},
		{name: "cut anew: the second half", state: ten, epoch: 3, first: 95, count: 5, want: OutOfOrder},
		{name: "cut anew: one and a record more", state: ten, epoch: 3, first: 90, count: 11, want: OutOfOrder},
		{name: "a gap", state: ten, epoch: 3, first: 101, count: 1, want: OutOfOrder},
		{name: "after a restart: the last", state: reloaded(ten), epoch: 3, first: 90, count: 10, want: Recognised, offset: 190},
		{name: "after a restart: the one before", state: reloaded(ten), epoch: 3, first: 80, count: 10, want: OutOfOrder},
		{name: "after a restart: the next", state: reloaded(ten), epoch: 3, first: 100, count: 1, want: Append},
		{name: "memory of one: the last", rules: Rules{Memory: 1}, state: ten, epoch: 3, first: 90, count: 10, want: Recognised, offset: 190},
		{name: "memory of one: the one before", rules: Rules{Memory: 1}, state: ten, epoch: 3, first: 80, count: 10, want: OutOfOrder},
		{name: "memory larger than what is kept", rules: Rules{Memory: 9}, state: ten, epoch: 3, first: 40, count: 10, want: OutOfOrder},
		{name: "no state, used log", epoch: 0, first: 1000, count: 1, want: Append},
		{name: "no state, epoch above 0", epoch: 5, first: 1000, count: 1, want: Append},
		{name: "no state, new log", neverWritten: true, epoch: 0, first: 1000, count: 1, want: Append},
		{name: "accepted at 1000, then 0", state: append10(0, 1000, 1), epoch: 0, first: 0, count: 10, want: OutOfOrder},
		{name: "newer epoch, first 0", state: ten, epoch: 4, first: 0, count: 1, want: Append},
		{name: "newer epoch, several ahead", state: ten, epoch: 9, first: 0, count: 1, want: Append},
		{name: "newer epoch, first not 0", state: ten, epoch: 4, first: 100, count: 1, want: OutOfOrder},
		{name: "newer epoch, an old range", state: ten, epoch: 4, first: 90, count: 10, want: OutOfOrder},
		{name: "older epoch, new", state: ten, epoch: 2, first: 100, count: 1, want: Fenced},
		{name: "older epoch, duplicate", state: ten, epoch: 2, first: 90, count: 10, want: Fenced},
		{name: "older epoch, first 0", state: ten, epoch: 2, first: 0, count: 1, want: Fenced},
	} {
		t.Run(a.name, a.run)
	}
}

func TestWrap(t *testing.T) {
	var over Producer
	over.Appended(0, maxSequence-2, 5, 7) // 2147483645 to 1
	exact := append10(0, maxSequence-9, 1)
	if over.Last() != 1 || exact.Last() != maxSequence {
		t.Fatalf("last sequences %d and %d", over.Last(), exact.Last())
	}
	for _, a := range []ask{
		{name: "the batch over the wrap", state: append10(0, maxSequence-12, 1), first: maxSequence - 2, count: 5, want: Append},
		{name: "behind it", state: over, first: 2, count: 1, want: Append},
		{name: "its duplicate", state: over, first: maxSequence - 2, count: 5, want: Recognised, offset: 7},
		{name: "behind the last sequence comes 0", state: exact, first: 0, count: 1, want: Append},
		{name: "and not 1", state: exact, first: 1, count: 1, want: OutOfOrder},
		{name: "KIP-758: below the wrap", rules: Rules{Window: 10}, state: over, first: maxSequence - 7, count: 5, want: Duplicate},
		{name: "KIP-758: too far below the wrap", rules: Rules{Window: 10}, state: over, first: maxSequence - 8, count: 5, want: OutOfOrder},
	} {
		t.Run(a.name, a.run)
	}
}

func TestKIP758Broker(t *testing.T) {
	kip := Rules{Window: 1000}
	long := append10(0, 0, 200) // sequences 0 to 1999
	var one Producer
	one.Appended(0, 4999, 1, 600) // of one record, so that distances are plain
	for _, a := range []ask{
		{name: "the next", rules: kip, state: long, first: 2000, count: 10, want: Append},
		{name: "the latest, with its offset", rules: kip, state: long, first: 1990, count: 10, want: Recognised, offset: 2090},
		{name: "the one before, without", rules: kip, state: long, first: 1980, count: 10, want: Duplicate},
		{name: "one below the last", rules: kip, state: one, first: 4998, count: 1, want: Duplicate},
		{name: "999 below the last", rules: kip, state: one, first: 4000, count: 1, want: Duplicate},
		{name: "1000 below the last", rules: kip, state: one, first: 3999, count: 1, want: OutOfOrder},
		{name: "1001 below the last", rules: kip, state: one, first: 3998, count: 1, want: OutOfOrder},
		{name: "a gap", rules: kip, state: long, first: 2001, count: 1, want: OutOfOrder},
		{name: "far ahead", rules: kip, state: long, first: 2000 + 1<<30, count: 1, want: OutOfOrder},
		{name: "the last and a record more: it is lost", rules: kip, state: long, first: 1990, count: 11, want: Duplicate},
		{name: "half of the last", rules: kip, state: long, first: 1995, count: 5, want: Duplicate},
		{name: "a window of one: the latest", rules: Rules{Window: 1}, state: one, first: 4999, count: 1, want: Recognised, offset: 600},
		{name: "a window of one: the one before", rules: Rules{Window: 1}, state: long, first: 1980, count: 10, want: OutOfOrder},
		{name: "a window of one: the last and a record more", rules: Rules{Window: 1}, state: one, first: 4999, count: 2, want: Duplicate},
		{name: "the widest window: its end", rules: Rules{Window: 1 << 30}, state: one, first: Add(4999, -(1<<30 - 1)), count: 1, want: Duplicate},
		{name: "the widest window: behind it", rules: Rules{Window: 1 << 30}, state: one, first: Add(4999, -(1 << 30)), count: 1, want: OutOfOrder},
		{name: "newer epoch, first not 0", rules: kip, state: long, epoch: 1, first: 1999, count: 1, want: OutOfOrder},
		{name: "newer epoch, first 0", rules: kip, state: long, epoch: 1, first: 0, count: 1, want: Append},
		{name: "no state", rules: kip, first: 1000, count: 1, want: Append},
	} {
		t.Run(a.name, a.run)
	}
}

// KAFKA-15591: from 4.5 on a log that never held a record takes 0 only.
func TestFirstMustBeZero(t *testing.T) {
	rules := Rules{FirstMustBeZero: true}
	for _, a := range []ask{
		{name: "new log, 1000", rules: rules, neverWritten: true, first: 1000, count: 1, want: OutOfOrder},
		{name: "new log, 0", rules: rules, neverWritten: true, first: 0, count: 1, want: Append},
		{name: "used log, 1000", rules: rules, first: 1000, count: 1, want: Append},
		{name: "known, the next", rules: rules, state: append10(0, 0, 1), first: 10, count: 1, want: Append},
	} {
		t.Run(a.name, a.run)
	}
}

// The first of four pipelined batches is refused; the others are accepted by a
// broker without state, and the first never fits again.
func TestFirstBatchHazard(t *testing.T) {
	var p Producer
	for i := int32(1); i < 4; i++ {
		if v, _ := (Rules{}).Judge(&p, i == 1, 0, 10*i, 10); v != Append {
			t.Fatalf("batch %d: verdict %d", i, v)
		}
		p.Appended(0, 10*i, 10, int64(10*i))
	}
	if v, _ := (Rules{}).Judge(&p, false, 0, 0, 10); v != OutOfOrder {
		t.Fatalf("the first: verdict %d", v)
	}
}

func TestProducer(t *testing.T) {
	var p Producer
	if _, ok := p.Known(); ok || p.Last() != -1 {
		t.Errorf("unknown producer: %+v", p)
	}
	p.Reload() // nothing to keep
	if _, ok := p.Known(); ok {
		t.Errorf("reloaded: %+v", p)
	}
	p = append10(3, 50, 2)
	if epoch, ok := p.Known(); !ok || epoch != 3 || p.Last() != 69 {
		t.Errorf("two batches: %+v", p)
	}
	p.Appended(4, 0, 5, 900) // a new epoch clears the memory
	if epoch, _ := p.Known(); epoch != 4 || p.Last() != 4 {
		t.Errorf("new epoch: %+v", p)
	}
	if v, _ := (Rules{}).Judge(&p, false, 4, 60, 10); v != OutOfOrder {
		t.Errorf("a batch of the old epoch under the new one: verdict %d", v)
	}
	q := p // a plain value
	q.Appended(4, 5, 5, 905)
	if p.Last() != 4 || q.Last() != 9 {
		t.Errorf("a copy is not apart: %d, %d", p.Last(), q.Last())
	}
}

func TestAdd(t *testing.T) {
	for _, tc := range []struct{ s, n, want int32 }{
		{0, 5, 5}, {maxSequence, 1, 0}, {maxSequence, maxSequence, maxSequence - 1}, {0, -1, maxSequence}, {5, 0, 5},
	} {
		if got := Add(tc.s, tc.n); got != tc.want {
			t.Errorf("%d + %d: got %d, want %d", tc.s, tc.n, got, tc.want)
		}
	}
}
