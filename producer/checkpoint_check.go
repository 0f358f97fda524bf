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
		if len(t.Partitions) == 0 {
			b.add("topic %.300q has no partition", t.Topic)
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
