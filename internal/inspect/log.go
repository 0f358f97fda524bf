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

// Log reads the log from an offset up to the high watermark as it is when the
// reading begins, and calls f for each batch. A broker shows a consumer nothing
// above the high watermark, so what f sees is replicated. It returns where the
// reading ended, also with an error. The topic ID is zero where brokers have none.
//
// It uses c as Conn.Do does, and the records cross the wire with it.
func Log(ctx context.Context, c *conn.Conn, at Place, topicID [16]byte, from int64, f func(Header)) (end int64, err error) {
	for high := int64(-1); high < 0 || from < high; {
		p, err := fetch(ctx, c, at, topicID, from)
		if err != nil {
			return from, err
		}
		if high < 0 {
			high = p.HighWatermark
		}
		if from >= high {
			break
		}
		next, err := Headers(p.RecordBatches, func(h Header) {
			if h.Offset >= from {
				f(h)
			}
		})
		if err != nil {
			return from, err
		}
		if next <= from {
			return from, fmt.Errorf("inspect: no batch at offset %d below the high watermark %d", from, high)
		}
		from = next
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
