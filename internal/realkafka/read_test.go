package realkafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// written is a batch as it lies in the log.
type written struct {
	offset int64
	first  int32
	count  int32
}

// read returns the committed batches of the log, from its start.
func (l *log) read() []written {
	l.t.Helper()
	end, err := l.cluster.nodes[l.place().leader].endOffset(l.topic, l.partition)
	check(l.t, err)
	reader := l.at(l.place().leader)
	var all []written
	for next := int64(0); next < end; {
		data := reader.fetch(next)
		if len(data) == 0 {
			l.t.Fatalf("nothing at offset %d of %d", next, end)
		}
		for _, b := range splitBatches(data) {
			if b.offset >= next { // a fetch begins with the batch that holds the offset
				all = append(all, b)
				next = b.offset + int64(b.count)
			}
		}
	}
	return all
}

func (l *log) fetch(offset int64) []byte {
	l.t.Helper()
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset = l.partition, offset
	p.PartitionMaxBytes = 8 << 20
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = l.topic
	topic.Partitions = append(topic.Partitions, p)
	r := kmsg.NewPtrFetchRequest()
	r.SetVersion(12)
	r.MaxBytes = 8 << 20
	r.Topics = append(r.Topics, topic)
	resp := must[*kmsg.FetchResponse](l.t, l.conn, r)
	answer := resp.Topics[0].Partitions[0]
	check(l.t, codeError(answer.ErrorCode, nil))
	return answer.RecordBatches
}

// splitBatches reads the headers of whole batches; a last one may be cut off.
func splitBatches(data []byte) []written {
	var all []written
	for {
		var rb kmsg.RecordBatch
		if err := rb.ReadFrom(data); err != nil {
			return all
		}
		all = append(all, written{rb.FirstOffset, rb.FirstSequence, rb.NumRecords})
		data = data[12+rb.Length:]
	}
}
