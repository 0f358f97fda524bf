// Package verify judges a run of a producer: it numbers the records, notes
// their outcomes, reads the log back with an independent consumer (franz-go's
// kgo), and says what was lost, doubled, swapped or reported wrongly.
package verify

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Outcome is what the producer said of a record.
type Outcome uint8

const (
	None       Outcome = iota // nothing, yet
	Written                   // it is in the log
	NotWritten                // it is not
	Unknown                   // it may be
)

// headerBytes is what a value begins with: the record's number, and a checksum
// of the whole.
const headerBytes = 12

// Log is the records of one topic. Records of one partition must be produced in
// the order of their numbers. Note may be called concurrently with everything.
type Log struct {
	topic string
	run   uint32 // tells this run's records from others in the topic

	mu   sync.Mutex
	recs []record
}

type record struct {
	offset    int64
	partition int32
	outcome   Outcome
	again     bool // an outcome came twice
	seen      uint8
}

// New returns a Log for a topic. Of several producers into the same topic each
// has a Log with a run of its own; 0 is the usual one.
func New(topic string, run uint32) *Log { return &Log{topic: topic, run: run} }

// Value returns the value of the next record, appended to dst, and its number.
// It is at least size bytes long, or as long as its header.
func (l *Log) Value(dst []byte, size int) (value []byte, number int) {
	l.mu.Lock()
	number = len(l.recs)
	l.recs = append(l.recs, record{offset: -1, partition: -1})
	l.mu.Unlock()
	from := len(dst)
	dst = append(dst, make([]byte, max(size, headerBytes))...)
	v := dst[from:]
	binary.BigEndian.PutUint32(v[0:], l.run)
	binary.BigEndian.PutUint32(v[4:], uint32(number))
	for i := headerBytes; i < len(v); i++ {
		v[i] = byte(number + i)
	}
	binary.BigEndian.PutUint32(v[8:], checksum(v))
	return dst, number
}

func checksum(v []byte) uint32 {
	sum := crc32.Update(0, castagnoli, v[:8])
	return crc32.Update(sum, castagnoli, v[headerBytes:])
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Note notes the outcome of a record; offset is -1 if none was reported.
func (l *Log) Note(number int, o Outcome, partition int32, offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.recs[number]
	r.again = r.again || r.outcome != None
	r.outcome, r.partition, r.offset = o, partition, offset
}

// Verdict is what the log shows.
type Verdict struct {
	Records     int // produced
	Read        int // in the log, of this run
	Foreign     int // in the log, of others
	Lost        int // reported written, and not in the log
	Doubled     int // more than once in the log
	Swapped     int // behind one with a higher number
	Ghosts      int // reported not written, and in the log
	WrongOffset int // reported at an offset where they are not
	NoOffset    int // reported written without an offset
	Corrupt     int // in the log with another content
	NoOutcome   int // without an outcome
	TwoOutcomes int // with more than one
	Unknown     int // reported unknown, of which in the log:
	UnknownRead int
	NotWritten  int      // reported so, of which
	Gaps        int      // are missing in front of records that were written
	First       []string // the first few faults, in words
}

// Faults is the number of faults, 0 if all is well. Unknown outcomes, records
// not written, gaps that were reported and missing offsets are none by
// themselves.
func (v *Verdict) Faults() int {
	return v.Lost + v.Doubled + v.Swapped + v.Ghosts + v.WrongOffset + v.Corrupt + v.NoOutcome + v.TwoOutcomes
}

func (v *Verdict) String() string {
	s := fmt.Sprintf("%d records: %d read back, %d lost, %d doubled, %d out of order, %d wrong offsets",
		v.Records, v.Read, v.Lost, v.Doubled, v.Swapped, v.WrongOffset)
	for _, more := range []struct {
		n    int
		what string
	}{
		{v.Ghosts, "reported not written and in the log"},
		{v.Corrupt, "corrupt"},
		{v.NoOutcome, "without an outcome"},
		{v.TwoOutcomes, "with two outcomes"},
		{v.NotWritten, "not written"},
		{v.Gaps, "of them missing in front of others"},
		{v.NoOffset, "without an offset"},
	} {
		if more.n > 0 {
			s += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	if v.Unknown > 0 {
		s += fmt.Sprintf(", %d unknown (%d of them in the log)", v.Unknown, v.UnknownRead)
	}
	for _, f := range v.First {
		s += "\n  " + f
	}
	return s
}

func (v *Verdict) fault(counter *int, format string, args ...any) {
	*counter++
	if len(v.First) < 10 {
		v.First = append(v.First, fmt.Sprintf(format, args...))
	}
}

// Read reads the topic from beginning to end and judges. Nothing may write to
// it meanwhile. opts are added to the consumer's.
func (l *Log) Read(ctx context.Context, brokers []string, opts ...kgo.Opt) (Verdict, error) {
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(brokers...),
		kgo.ConsumeTopics(l.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(fetchWait),
	}, opts...)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return Verdict{}, err
	}
	defer client.Close()
	ends, err := endOffsets(ctx, client, l.topic)
	if err != nil {
		return Verdict{}, fmt.Errorf("verify: end offsets of %q: %w", l.topic, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	j := judge{log: l, last: map[int32]int{}}
	j.v.Records = len(l.recs)
	for len(ends) > 0 {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return j.v, fmt.Errorf("verify: reading back: %w", err)
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return j.v, fmt.Errorf("verify: reading back %s/%d: %w", errs[0].Topic, errs[0].Partition, errs[0].Err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			j.record(r)
			if r.Offset+1 >= ends[r.Partition] {
				delete(ends, r.Partition)
			}
		})
	}
	j.end()
	return j.v, nil
}

func endOffsets(ctx context.Context, client *kgo.Client, topic string) (map[int32]int64, error) {
	meta := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	meta.Topics = append(meta.Topics, rt)
	resp, err := meta.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	lt := kmsg.NewListOffsetsRequestTopic()
	lt.Topic = topic
	for _, p := range resp.Topics[0].Partitions {
		lp := kmsg.NewListOffsetsRequestTopicPartition()
		lp.Partition, lp.Timestamp = p.Partition, -1
		lt.Partitions = append(lt.Partitions, lp)
	}
	req.Topics = append(req.Topics, lt)
	ends := map[int32]int64{}
	for _, shard := range client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, shard.Err
		}
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 {
					return nil, fmt.Errorf("partition %d: error code %d", p.Partition, p.ErrorCode)
				}
				if p.Offset > 0 {
					ends[p.Partition] = p.Offset
				}
			}
		}
	}
	return ends, nil
}
