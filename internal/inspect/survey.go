package inspect

import (
	"context"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Led is a partition, and the epoch in which the broker that is asked leads it.
type Led struct {
	Place
	Epoch int32
}

// Survey asks a broker about many partitions that it leads: what it has of
// producers, and up to where each log was replicated just before. What lies above
// that may be truncated, and other records may take its offsets. A partition that
// the broker did not lead in that epoch, before and after, has no end: what was
// said of it counts for nothing.
//
// It uses c as Conn.Do does.
func Survey(ctx context.Context, c *conn.Conn, parts []Led, producerID int64, size *Portion) (*Answer, map[Place]int64, error) {
	ends, err := highWatermarks(ctx, c, parts)
	if err != nil {
		return nil, nil, err
	}
	var places []Place
	for _, p := range parts {
		places = append(places, p.Place)
	}
	answer, err := Describe(ctx, c, places, producerID, size)
	if err != nil {
		return nil, nil, err
	}
	after, err := logEnds(ctx, c, parts)
	if err != nil {
		return nil, nil, err
	}
	for at := range ends {
		if _, led := after[at]; !led {
			delete(ends, at)
		}
	}
	return answer, ends, nil
}

// logEnds are the ends of the logs that the broker leads in the given epochs.
func logEnds(ctx context.Context, c *conn.Conn, parts []Led) (map[Place]int64, error) {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	at := map[string]int{}
	for _, p := range parts {
		i, ok := at[p.Topic]
		if !ok {
			i = len(req.Topics)
			at[p.Topic] = i
			rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
			rt.Topic = p.Topic
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = p.Partition, p.Epoch, p.Epoch
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	kresp, err := c.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	ends := map[Place]int64{}
	for _, t := range kresp.(*kmsg.OffsetForLeaderEpochResponse).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 && p.EndOffset >= 0 {
				ends[Place{t.Topic, p.Partition}] = p.EndOffset
			}
		}
	}
	return ends, nil
}

// highWatermarks are those of the partitions that the broker leads in the given
// epochs.
func highWatermarks(ctx context.Context, c *conn.Conn, parts []Led) (map[Place]int64, error) {
	const latest = -1
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	at := map[string]int{}
	for _, p := range parts {
		i, ok := at[p.Topic]
		if !ok {
			i = len(req.Topics)
			at[p.Topic] = i
			rt := kmsg.NewListOffsetsRequestTopic()
			rt.Topic = p.Topic
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.CurrentLeaderEpoch, rp.Timestamp = p.Partition, p.Epoch, latest
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	kresp, err := c.Do(ctx, req)
	if err != nil {
		return nil, err
	}
	ends := map[Place]int64{}
	for _, t := range kresp.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 && p.Offset >= 0 {
				ends[Place{t.Topic, p.Partition}] = p.Offset
			}
		}
	}
	return ends, nil
}
