package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	fetchBytes  = 4 << 20
	fetchWaitMs = 500
)

// mostRead bounds the bytes of a log that one reading takes.
var mostRead int64 = 4 << 30

// ErrLong says that a reading ended because the log is long. Another one can go on
// where it ended.
var ErrLong = errors.New("inspect: the log goes on")

// Log reads the log from an offset up to the high watermark as it is when the
// reading begins, and not beyond until. It calls f for each batch, as long as f wants
// more. A broker shows a consumer nothing above the high watermark, so what f sees is
// replicated. It returns where the reading ended, also with an error. The topic ID is
// zero where brokers have none.
//
// A broker may say that its log has no end, so this one has: see ErrLong.
//
// It uses c as Conn.Do does, and the records cross the wire with it.
func Log(ctx context.Context, c *conn.Conn, at Place, topicID [16]byte, from, until int64, f func(Header) (more bool)) (end int64, err error) {
	more, read := true, int64(0)
	for high := int64(-1); more && (high < 0 || from < min(high, until)); {
		p, err := fetch(ctx, c, at, topicID, from)
		if err != nil {
			return from, err
		}
		if high < 0 {
			high = p.HighWatermark
		}
		if from >= min(high, until) {
			break
		}
		next, err := Headers(p.RecordBatches, func(h Header) bool {
			more = h.Offset < from || f(h)
			return more
		})
		if err != nil {
			return from, err
		}
		if next <= from {
			return from, fmt.Errorf("inspect: no batch at offset %d below the high watermark %d", from, high)
		}
		from = next
		if read += int64(len(p.RecordBatches)); read > mostRead && from < high {
			return from, fmt.Errorf("%w: %d bytes read up to offset %d of %d", ErrLong, read, from, high)
		}
	}
	return from, nil
}

var errLeftOut = errors.New("inspect: the response leaves the partition out")

func fetch(ctx context.Context, c *conn.Conn, at Place, topicID [16]byte, from int64) (*kmsg.FetchResponseTopicPartition, error) {
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = at.Partition, from, fetchBytes
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = at.Topic, topicID
	rt.Partitions = append(rt.Partitions, rp)
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = fetchWaitMs, 0, fetchBytes
	req.Topics = append(req.Topics, rt)
	kresp, err := c.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := kresp.(*kmsg.FetchResponse)
	if resp.ErrorCode != 0 {
		return nil, retry.Code(resp.ErrorCode)
	}
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[j]
			if p.Partition != at.Partition {
				continue
			}
			if p.ErrorCode != 0 {
				return nil, retry.Code(p.ErrorCode)
			}
			return p, nil
		}
	}
	return nil, errLeftOut
}
