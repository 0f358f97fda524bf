package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/twmb/franz-go/pkg/kgo"
)

// verdict says how the output compares with what the input should give.
type verdict struct {
	In, Want, Read int // input records, output records due, and there

	Lost      int // due, and not there
	Doubled   int // there more than once
	Swapped   int // behind one that is made of later input of the same partition
	Foreign   int // made of no input, or at another time
	Misplaced int // where their key does not belong
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

// rules is what the output has to follow from.
type rules struct {
	transform  func(*kgo.Record) []producer.Record
	partitions int // of the output, when the pipeline began
}

// home says where the partitioner of Kafka's clients puts a key.
func (r rules) home() func(key []byte) int32 {
	p := kgo.StickyKeyPartitioner(nil).ForTopic("")
	return func(key []byte) int32 { return int32(p.Partition(&kgo.Record{Key: key}, r.partitions)) }
}

// judge reads both topics with a consumer that knows nothing of the pipeline,
// and compares. Nothing may be written to them meanwhile.
func judge(ctx context.Context, brokers []string, input, output string, by rules) (verdict, error) {
	in, err := readAll(ctx, brokers, input)
	if err != nil {
		return verdict{}, err
	}
	out, err := readAll(ctx, brokers, output)
	if err != nil {
		return verdict{}, err
	}
	return compare(in, out, by), nil
}

// due is an output record that must be there once.
type due struct {
	from  int32 // input partition
	place int   // among all that its input partition gives
	time  time.Time
	seen  bool
}

func compare(in, out map[int32][]*kgo.Record, by rules) (v verdict) {
	all := map[string]*due{}
	name := func(key, value []byte) string { return fmt.Sprintf("%q of %q", key, value) }
	for from, records := range in {
		place := 0
		for _, r := range records {
			v.In++
			for _, want := range by.transform(r) {
				all[name(want.Key, want.Value)] = &due{from: from, place: place, time: want.Timestamp}
				place++
			}
		}
	}
	v.Want = len(all)
	home := by.home()
	for partition, records := range out {
		last := map[int32]int{}
		for _, r := range records {
			v.Read++
			what := name(r.Key, r.Value)
			d := all[what]
			switch {
			case d == nil, !d.time.IsZero() && !d.time.Equal(r.Timestamp):
				v.fault(&v.Foreign, "foreign: %s at %d/%d", what, partition, r.Offset)
				continue
			case d.seen:
				v.fault(&v.Doubled, "doubled: %s at %d/%d", what, partition, r.Offset)
				continue
			case d.place+1 < last[d.from]:
				v.fault(&v.Swapped, "out of order: %s at %d/%d", what, partition, r.Offset)
			}
			if partition != home(r.Key) {
				v.fault(&v.Misplaced, "misplaced: %s at %d/%d", what, partition, r.Offset)
			}
			d.seen, last[d.from] = true, d.place+1
		}
	}
	for what, d := range all {
		if !d.seen {
			v.fault(&v.Lost, "lost: %s", what)
		}
	}
	return v
}
