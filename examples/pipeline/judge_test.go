package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Each kind of fault is found, and counted once.
func TestCompare(t *testing.T) {
	in := map[int32][]*kgo.Record{
		0: {{Partition: 0, Offset: 0, Value: []byte("b a")}, {Partition: 0, Offset: 1}, {Partition: 0, Offset: 2, Value: []byte("a c")}},
		1: {{Partition: 1, Offset: 0, Value: []byte("a")}},
	}
	word := func(key, value string) *kgo.Record {
		return &kgo.Record{Key: []byte(key), Value: []byte(value + " " + key)}
	}
	good := func() map[int32][]*kgo.Record {
		return map[int32][]*kgo.Record{
			0: {word("A", "1/0/0"), word("A", "0/0/1"), word("A", "0/2/0"), word("C", "0/2/1")},
			1: {word("B", "0/0/0")},
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
		// Of two input partitions neither comes first.
		"0 lost, 0 doubled, 0 out of order, 0 foreign, 0 misplaced ": func(out map[int32][]*kgo.Record) { out[0][0], out[0][1] = out[0][1], out[0][0] },
	} {
		out := good()
		change(out)
		v := compare(in, out)
		v.First = nil
		got := v.String()
		if v.In != 4 || v.Want != 5 || fmt.Sprintf("4 records in, 5 due, %d out: %s", v.Read, trim(want)) != got {
			t.Errorf("want %s: got %s", want, got)
		}
	}
}

func trim(s string) string {
	if s[len(s)-1] == ' ' {
		return s[:len(s)-1]
	}
	return s
}
