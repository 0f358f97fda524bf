package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Each kind of fault is found, and counted once.
func TestCompare(t *testing.T) {
	in := map[int32][]*kgo.Record{
		0: {{Partition: 0, Offset: 0, Value: []byte("d a")}, {Partition: 0, Offset: 1}, {Partition: 0, Offset: 2, Value: []byte("a c")}},
		1: {{Partition: 1, Offset: 0, Value: []byte("a")}},
	}
	word := func(key, value string) *kgo.Record {
		return &kgo.Record{Key: []byte(key), Value: []byte(value + " " + key)}
	}
	good := func() map[int32][]*kgo.Record {
		return map[int32][]*kgo.Record{
			0: {word("A", "1/0/0"), word("A", "0/0/1"), word("A", "0/2/0"), word("C", "0/2/1")},
			1: {word("D", "0/0/0")},
		}
	}
	for want, change := range map[string]func(out map[int32][]*kgo.Record){
		"0 lost, 0 doubled, 0 out of order, 0 foreign, 0 misplaced": func(map[int32][]*kgo.Record) {},
		"1 lost, 0 doubled, 0 out of order, 0 foreign, 0 misplaced": func(out map[int32][]*kgo.Record) { out[1] = nil },
		"0 lost, 1 doubled, 0 out of order, 0 foreign, 0 misplaced": func(out map[int32][]*kgo.Record) { out[0] = append(out[0], out[0][1]) },
		"0 lost, 0 doubled, 1 out of order, 0 foreign, 0 misplaced": func(out map[int32][]*kgo.Record) { out[0][1], out[0][2] = out[0][2], out[0][1] },
		"0 lost, 0 doubled, 0 out of order, 1 foreign, 0 misplaced": func(out map[int32][]*kgo.Record) { out[1] = append(out[1], word("X", "0/0/9")) },
		"1 lost, 0 doubled, 0 out of order, 1 foreign, 0 misplaced": func(out map[int32][]*kgo.Record) { out[1][0].Key = []byte("X") },
		"0 lost, 0 doubled, 0 out of order, 0 foreign, 1 misplaced": func(out map[int32][]*kgo.Record) {
			out[1] = append(out[1], out[0][0])
			out[0] = slices.Delete(out[0], 0, 1)
		},
		// A partition that was added is no home, not even of a key that moves there as a whole.
		"0 lost, 0 doubled, 0 out of order, 0 foreign, 1 misplaced ": func(out map[int32][]*kgo.Record) {
			out[2] = append(out[2], out[0][3])
			out[0] = slices.Delete(out[0], 3, 4)
		},
		// Of two input partitions neither comes first.
		"0 lost, 0 doubled, 0 out of order, 0 foreign, 0 misplaced ": func(out map[int32][]*kgo.Record) { out[0][0], out[0][1] = out[0][1], out[0][0] },
	} {
		out := good()
		change(out)
		v := compare(in, out, rules{transform, 2})
		v.First = nil
		got := v.String()
		if v.In != 4 || v.Want != 5 || fmt.Sprintf("4 records in, 5 due, %d out: %s", v.Read, trim(want)) != got {
			t.Errorf("want %s: got %s", want, got)
		}
	}
}

// A word that has another time than its sentence is not the one that is due.
func TestCompareTimes(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000)
	in := map[int32][]*kgo.Record{0: {{Value: []byte("a c"), Timestamp: at}}}
	out := map[int32][]*kgo.Record{0: {
		{Key: []byte("A"), Value: []byte("0/0/0 A"), Timestamp: at},
		{Key: []byte("C"), Value: []byte("0/0/1 C"), Timestamp: at},
	}}
	by := rules{transformAt, 2}
	if v := compare(in, out, by); v.faults() != 0 {
		t.Error(v.String())
	}
	out[0][1].Timestamp = at.Add(time.Millisecond)
	if v := compare(in, out, by); v.Foreign != 1 || v.Lost != 1 || v.faults() != 2 {
		t.Error(v.String())
	}
}

func trim(s string) string {
	if s[len(s)-1] == ' ' {
		return s[:len(s)-1]
	}
	return s
}
