package inspect

import (
	"context"
	"maps"

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
	maps.DeleteFunc(ends, func(at Place, _ int64) bool {
		_, led := after[at]
		return !led
	})
	return answer, ends, nil
}

// logEnds are the ends of the logs that the broker leads in the given epochs.
func logEnds(ctx context.Context, c *conn.Conn, parts []Led) (map[Place]int64, error) {
	kresp, err := c.Do(ctx, askLogEnds(parts))
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
	kresp, err := c.Do(ctx, askHighWatermarks(parts))
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

// askLogEnds is for the offsets behind the last records in the logs of the leader in
// these epochs, replicated or not.
func askLogEnds(parts []Led) kmsg.Request {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	for _, led := range byTopic(parts) {
		rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
		rt.Topic = led[0].Topic
		for _, p := range led {
			rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = p.Partition, p.Epoch, p.Epoch
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	return req
}

func askHighWatermarks(parts []Led) kmsg.Request {
	const latest = -1
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	for _, led := range byTopic(parts) {
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = led[0].Topic
		for _, p := range led {
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Partition, rp.CurrentLeaderEpoch, rp.Timestamp = p.Partition, p.Epoch, latest
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	return req
}

// byTopic groups the partitions, in the order in which the topics come.
func byTopic(parts []Led) (topics [][]Led) {
	at := map[string]int{}
	for _, p := range parts {
		i, ok := at[p.Topic]
		if !ok {
			i = len(topics)
			at[p.Topic] = i
			topics = append(topics, nil)
		}
		topics[i] = append(topics[i], p)
	}
	return topics
}
