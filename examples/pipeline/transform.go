package main

import (
	"fmt"
	"strings"

	"github.com/sluice-kafka/sluice/producer"
	"github.com/twmb/franz-go/pkg/kgo"
)

// transform is what the pipeline does: a sentence comes in, its words go out,
// each with the place it comes from, keyed by the word. A blank line gives
// nothing.
//
// After a crash the pipeline calls it again with the same input, and must get
// the same records, in the same order. So it uses nothing but the record: no
// clock, no random number, no order of a map, nothing that it remembers or looks
// up elsewhere. (What a transform remembers has to be part of the State.) All
// records have a key: without one the partition would be chosen anew.
func transform(in *kgo.Record) []producer.Record {
	words := strings.Fields(string(in.Value))
	out := make([]producer.Record, len(words))
	for i, word := range words {
		word = strings.ToUpper(word)
		out[i].Key = []byte(word)
		out[i].Value = fmt.Appendf(nil, "%d/%d/%d %s", in.Partition, in.Offset, i, word)
	}
	return out
}

// transformAt is transform for output that keeps the time of its input. That is
// as deterministic; but brokers forget a producer by the timestamps of its records,
// and one of old records within moments (docs/exactly-once.md).
func transformAt(in *kgo.Record) []producer.Record {
	out := transform(in)
	for i := range out {
		out[i].Timestamp = in.Timestamp
	}
	return out
}
