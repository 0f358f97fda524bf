package main

import (
	"reflect"
	"testing"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestTransform(t *testing.T) {
	for sentence, want := range map[string][]producer.Record{
		"":     {},
		"  \t": {},
		"the quick  the": {
			{Key: []byte("THE"), Value: []byte("3/70/0 THE")},
			{Key: []byte("QUICK"), Value: []byte("3/70/1 QUICK")},
			{Key: []byte("THE"), Value: []byte("3/70/2 THE")},
		},
	} {
		in := &kgo.Record{Partition: 3, Offset: 70, Value: []byte(sentence)}
		for range 2 { // the second time it must be the same
			if got := transform(in); !reflect.DeepEqual(got, want) {
				t.Errorf("%q became %v", sentence, got)
			}
		}
	}
}
