package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// verdict says how the output compares with what the input should give.
type verdict struct {
	In, Want, Read int // input records, output records due, and there

	Lost      int // due, and not there
	Doubled   int // there more than once
	Swapped   int // behind one that is made of later input of the same partition
	Foreign   int // made of no input
	Misplaced int // in another partition than others with the same key
	First     []string
}

func (v *verdict) faults() int { return v.Lost + v.Doubled + v.Swapped + v.Foreign + v.Misplaced }

func (v *verdict) String() string {
	s := fmt.Sprintf("%d records in, %d due, %d out: %d lost, %d doubled, %d out of order, %d foreign, %d misplaced",
		v.In, v.Want, v.Read, v.Lost, v.Doubled, v.Swapped, v.Foreign, v.Misplaced)
	for _, f := range v.First {
		s += "\n  " + f
	}
	return s
}

func (v *verdict) fault(counter *int, format string, args ...any) {
	*counter++
	if len(v.First) < 10 {
		v.First = append(v.First, fmt.Sprintf(format, args...))
	}
}

// judge reads both topics with a consumer that knows nothing of the pipeline,
// and compares. Nothing may be written to them meanwhile.
func judge(ctx context.Context, brokers []string, input, output string) (verdict, error) {
	in, err := readAll(ctx, brokers, input)
	if err != nil {
		return verdict{}, err
	}
	out, err := readAll(ctx, brokers, output)
	if err != nil {
		return verdict{}, err
	}
	return compare(in, out), nil
}

// due is an output record that must be there once.
type due struct {
	from  int32 // input partition
	place int   // among all that its input partition gives
	seen  bool
}

func compare(in, out map[int32][]*kgo.Record) (v verdict) {
	all := map[string]*due{}
	name := func(key, value []byte) string { return fmt.Sprintf("%q of %q", key, value) }
	for from, records := range in {
		place := 0
		for _, r := range records {
			v.In++
			for _, want := range transform(r) {
				all[name(want.Key, want.Value)] = &due{from: from, place: place}
				place++
			}
		}
	}
	v.Want = len(all)
	home := map[string]int32{}
	for partition, records := range out {
		last := map[int32]int{}
		for _, r := range records {
			v.Read++
			what := name(r.Key, r.Value)
			d := all[what]
			switch {
			case d == nil:
				v.fault(&v.Foreign, "foreign: %s at %d/%d", what, partition, r.Offset)
				continue
			case d.seen:
				v.fault(&v.Doubled, "doubled: %s at %d/%d", what, partition, r.Offset)
				continue
			case d.place+1 < last[d.from]:
				v.fault(&v.Swapped, "out of order: %s at %d/%d", what, partition, r.Offset)
			}
			if at, known := home[string(r.Key)]; known && at != partition {
				v.fault(&v.Misplaced, "misplaced: %s at %d/%d", what, partition, r.Offset)
			}
			d.seen, last[d.from], home[string(r.Key)] = true, d.place+1, partition
		}
	}
	for what, d := range all {
		if !d.seen {
			v.fault(&v.Lost, "lost: %s", what)
		}
	}
	return v
}
