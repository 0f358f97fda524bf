package verify

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// readOut is a log of two partitions as it should be, and what was reported of
// it: records 0 to 9, the even ones in partition 0.
type readOut struct {
	log  *Log
	recs []*kgo.Record
}

func newReadOut() *readOut {
	o := &readOut{log: New("topic", 7)}
	for range 10 {
		value, number := o.log.Value(nil, 20)
		r := &kgo.Record{Partition: int32(number % 2), Offset: int64(100 + number/2), Value: value}
		o.recs = append(o.recs, r)
		o.log.Note(number, Written, r.Partition, r.Offset)
	}
	return o
}

func (o *readOut) remove(number int) {
	o.recs = append(o.recs[:number:number], o.recs[number+1:]...)
	for _, r := range o.recs[number:] {
		if int(r.Partition) == number%2 {
			r.Offset--
		}
	}
}

func (o *readOut) judge() Verdict {
	j := judge{log: o.log, last: map[int32]int{}}
	j.v.Records = len(o.log.recs)
	for _, r := range o.recs {
		j.record(r)
	}
	j.end()
	return j.v
}

// renote forgets what was noted of a record, and notes something else.
func (o *readOut) renote(number int, outcome Outcome, offset int64) {
	o.log.recs[number].outcome = None
	o.log.Note(number, outcome, int32(number%2), offset)
}

func TestCleanLogIsClean(t *testing.T) {
	o := newReadOut()
	v := o.judge()
	if v.Faults() != 0 || v.Read != 10 || len(v.First) != 0 {
		t.Errorf("%+v", v)
	}
}

// Every kind of fault, planted once, is found once, and nothing else is.
func TestPlantedFaultsAreFound(t *testing.T) {
	for what, c := range map[string]struct {
		plant func(*readOut)
		count func(*Verdict) *int
	}{
		"last record lost": {
			func(o *readOut) { o.remove(9) },
			func(v *Verdict) *int { return &v.Lost },
		},
		"doubled": {
			func(o *readOut) {
				again := *o.recs[4]
				again.Offset = 200
				o.recs = append(o.recs, &again)
			},
			func(v *Verdict) *int { return &v.Doubled },
		},
		"swapped": {
			func(o *readOut) {
				o.recs[4], o.recs[6] = o.recs[6], o.recs[4]
				o.renote(4, Unknown, -1)
				o.renote(6, Unknown, -1)
			},
			func(v *Verdict) *int { return &v.Swapped },
		},
		"reported not written": {
			func(o *readOut) { o.renote(3, NotWritten, -1) },
			func(v *Verdict) *int { return &v.Ghosts },
		},
		"wrong offset": {
			func(o *readOut) { o.renote(3, Written, 102) },
			func(v *Verdict) *int { return &v.WrongOffset },
		},
		"other partition": {
			func(o *readOut) { o.recs[9].Partition = 0 },
			func(v *Verdict) *int { return &v.WrongOffset },
		},
		"another value": {
			func(o *readOut) {
				o.recs[9].Value[15] ^= 1
				o.renote(9, Unknown, -1)
			},
			func(v *Verdict) *int { return &v.Corrupt },
		},
		"a number that was never given": {
			func(o *readOut) {
				o.log.recs = o.log.recs[:9]
			},
			func(v *Verdict) *int { return &v.Corrupt },
		},
		"no outcome": {
			func(o *readOut) { o.log.recs[3].outcome = None },
			func(v *Verdict) *int { return &v.NoOutcome },
		},
		"two outcomes": {
			func(o *readOut) { o.log.Note(3, Written, 1, 101) },
			func(v *Verdict) *int { return &v.TwoOutcomes },
		},
	} {
		o := newReadOut()
		c.plant(o)
		v := o.judge()
		if n := *c.count(&v); n != 1 || v.Faults() != 1 {
			t.Errorf("%s: %d of that kind of %d faults, want 1: %s", what, n, v.Faults(), v.String())
		}
		if len(v.First) != 1 || !strings.Contains(v.String(), v.First[0]) {
			t.Errorf("%s: it is not said where: %q", what, v.First)
		}
	}
}

// A record that is lost in the middle also puts those behind it at offsets
// where they were not reported.
func TestRecordLostInTheMiddle(t *testing.T) {
	o := newReadOut()
	o.remove(2)
	if v := o.judge(); v.Lost != 1 || v.WrongOffset != 3 || v.Faults() != 4 {
		t.Errorf("%s", v.String())
	}
}

func TestWhatIsNoFault(t *testing.T) {
	o := newReadOut()
	o.remove(2)
	for number := 4; number < 10; number += 2 {
		o.renote(number, Written, -1)
	}
	o.renote(2, NotWritten, -1)
	o.renote(5, Unknown, -1)
	o.recs = append(o.recs, &kgo.Record{Value: []byte("short")}, &kgo.Record{Value: make([]byte, 20)})
	v := o.judge()
	want := Verdict{Records: 10, Read: 9, Foreign: 2, NoOffset: 3, Unknown: 1, UnknownRead: 1, NotWritten: 1, Gaps: 1}
	if v.Faults() != 0 || v.String() != want.String() || v.Foreign != 2 {
		t.Errorf("got %s, want %s", v.String(), want.String())
	}
}
