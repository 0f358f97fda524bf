package producer

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

const (
	maxTopicName = 249   // bytes; Kafka allows no more
	maxClusterID = 32767 // bytes; the longest string of Kafka's protocol

	maxAge formAge = 100 * 366 * 24 * 3600 // seconds
)

// check reports all impossible values.
func (f *checkpointForm) check() error {
	var bad formFaults
	bad.text("the cluster id", f.ClusterID, 0, maxClusterID)
	bad.between("the producer id", f.ProducerID, -1, math.MaxInt64)
	if f.Taken.IsZero() || f.Taken.Year() < 1 || f.Taken.Year() > 9999 {
		bad.add("it was never taken, its time is %v", f.Taken)
	}
	if f.ProducerID < 0 {
		bad.between("the epoch", f.Epoch, -1, 0)
		if len(f.Topics) > 0 {
			bad.add("there are partitions, and no producer id")
		}
	} else {
		bad.between("the epoch", f.Epoch, 0, math.MaxInt16)
	}
	bad.age("the lane", f.Age)
	bad.between("what is known of timestamps", f.Stamps, 0, int64(StampsOwn))
	bad.topics(f)
	return bad.err()
}

// formFaults collects what is impossible; the first few in words.
type formFaults struct {
	words []string
	more  int
}

func (b *formFaults) add(format string, args ...any) {
	if len(b.words) == 10 {
		b.more++
		return
	}
	b.words = append(b.words, fmt.Sprintf(format, args...))
}

func (b *formFaults) between(what string, v, low, high int64) {
	if v < low || v > high {
		b.add("%s is %d, not from %d to %d", what, v, low, high)
	}
}

func (b *formFaults) text(what, s string, low, high int) {
	if len(s) < low || len(s) > high {
		b.add("%s has %d bytes, not from %d to %d", what, len(s), low, high)
	} else if !utf8.ValidString(s) {
		b.add("%s %q is not UTF-8", what, s)
	}
}

func (b *formFaults) topics(f *checkpointForm) {
	lastTopic, lastPartition := "", int64(-1)
	for i := range f.Topics {
		t := &f.Topics[i]
		b.text("a topic name", t.Topic, 1, maxTopicName)
		b.between(fmt.Sprintf("the partition count of topic %.300q", t.Topic), t.Count, 0, math.MaxInt32)
		b.age(fmt.Sprintf("topic %.300q", t.Topic), t.Age)
		if len(t.Partitions) == 0 {
			b.bare(f, i)
		}
		for _, p := range t.Partitions {
			b.partition(f, t.Topic, p)
			switch order := cmp.Or(strings.Compare(t.Topic, lastTopic), cmp.Compare(p.Partition, lastPartition)); {
			case order == 0:
				b.add("topic %.300q partition %d is there twice", t.Topic, p.Partition)
			case order < 0 && lastPartition >= 0:
				b.add("topic %.300q partition %d is out of order", t.Topic, p.Partition)
			}
			lastTopic, lastPartition = t.Topic, p.Partition
		}
	}
}

// bare checks a topic without partitions against the one before it.
func (b *formFaults) bare(f *checkpointForm, i int) {
	t := &f.Topics[i]
	switch {
	case f.Version == 1:
		b.add("topic %.300q has no partition", t.Topic)
	case i > 0 && f.Topics[i-1].Topic > t.Topic:
		b.add("topic %.300q is out of order", t.Topic)
	case i > 0 && f.Topics[i-1].Topic == t.Topic && f.Topics[i-1].ID == t.ID:
		b.add("topic %.300q is there twice", t.Topic)
	}
}

func (b *formFaults) age(what string, a formAge) {
	if a < 0 || a > maxAge {
		b.add("%s was verified %d s before the checkpoint, not from 0 to %d", what, a-1, maxAge-1)
	}
}

func (b *formFaults) partition(f *checkpointForm, topic string, p partitionForm) {
	at := func(what string) string {
		return fmt.Sprintf("topic %.300q partition %d: %s", topic, p.Partition, what)
	}
	if p.Partition < 0 || p.Partition > math.MaxInt32 {
		b.add("topic %.300q has no partition %d", topic, p.Partition)
	}
	if p.Epoch < max(f.Epoch, 0) || p.Epoch > math.MaxInt16 {
		b.between(at("the epoch"), p.Epoch, max(f.Epoch, 0), math.MaxInt16)
	}
	if p.Next < 0 || p.Next > math.MaxInt32 {
		b.between(at("the next sequence"), p.Next, 0, math.MaxInt32)
	}
	if p.Offset < -1 {
		b.between(at("the offset"), p.Offset, -1, math.MaxInt64)
	}
	b.age(fmt.Sprintf("topic %.300q partition %d", topic, p.Partition), p.Age)
	if p.Behind < 0 || p.Behind > math.MaxInt64-max(p.Offset, 0) {
		b.add("%s", at("the log ends before the last record, or nowhere"))
	}
}

func (b *formFaults) err() error {
	if len(b.words) == 0 {
		return nil
	}
	if b.more > 0 {
		b.words = append(b.words, fmt.Sprintf("and %d more", b.more))
	}
	return badCheckpoint("%s", strings.Join(b.words, "; "))
}
