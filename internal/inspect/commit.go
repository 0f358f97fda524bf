package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-kafka/sluice/internal/conn"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrMoved says that the leader changed while it was asked. Another attempt may do better.
var ErrMoved = errors.New("inspect: the partition has moved")

// Committed returns the broker's entry for the producer ID, once all that the
// entry counts is replicated. DescribeProducers alone says neither who answers
// nor what is replicated. So the broker is asked for the end of its log before
// and after: it answers that only as the leader in the given epoch, and leaders
// of one epoch do not come back, so it was the leader in between. Then the high
// watermark is waited for until it has passed that end (protocol rule R8).
//
// It uses c as Conn.Do does.
func Committed(ctx context.Context, c *conn.Conn, at Place, leaderEpoch int32, producerID int64) (Entry, error) {
	if leaderEpoch < 0 {
		return Entry{}, fmt.Errorf("inspect: %w: the broker names no leader epochs", errors.ErrUnsupported)
	}
	if _, err := logEnd(ctx, c, at, leaderEpoch); err != nil {
		return Entry{}, err
	}
	var q Question
	q.Add(at)
	kresp, err := c.Do(ctx, q.Request())
	if err != nil {
		return Entry{}, err
	}
	e, ok := Read(kresp.(*kmsg.DescribeProducersResponse)).Find(at, producerID)
	switch {
	case !ok:
		return Entry{}, errLeftOut
	case e.Code != 0:
		return Entry{}, retry.Code(e.Code)
	}
	end, err := logEnd(ctx, c, at, leaderEpoch)
	if err != nil {
		return Entry{}, err
	}
	return e, awaitHigh(ctx, c, at, leaderEpoch, end)
}

// logEnd is the offset behind the last record in the log of the leader in this
// epoch, replicated or not.
func logEnd(ctx context.Context, c *conn.Conn, at Place, epoch int32) (int64, error) {
	rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = at.Partition, epoch, epoch
	rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
	rt.Topic, rt.Partitions = at.Topic, append(rt.Partitions, rp)
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID, req.Topics = -1, append(req.Topics, rt)
	kresp, err := c.Do(ctx, req)
	if err != nil {
		return 0, err
	}
	topics := kresp.(*kmsg.OffsetForLeaderEpochResponse).Topics
	if len(topics) == 0 || len(topics[0].Partitions) == 0 {
		return 0, errLeftOut
	}
	p := &topics[0].Partitions[0]
	if p.ErrorCode == 0 && p.EndOffset < 0 { // the epoch is not known there
		return 0, ErrMoved
	}
	return p.EndOffset, moved(p.ErrorCode)
}

// awaitHigh waits until the high watermark has reached the offset.
func awaitHigh(ctx context.Context, c *conn.Conn, at Place, epoch int32, end int64) error {
	const every = 20 * time.Millisecond
	for {
		high, err := highWatermark(ctx, c, at, epoch)
		if err != nil || high >= end {
			return err
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return fmt.Errorf("inspect: offset %d is not replicated, the high watermark is %d: %w", end-1, high, ctx.Err())
		}
	}
}

func highWatermark(ctx context.Context, c *conn.Conn, at Place, epoch int32) (int64, error) {
	const latest = -1
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.CurrentLeaderEpoch, rp.Timestamp = at.Partition, epoch, latest
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic, rt.Partitions = at.Topic, append(rt.Partitions, rp)
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.Topics = -1, append(req.Topics, rt)
	kresp, err := c.Do(ctx, req)
	if err != nil {
		return 0, err
	}
	topics := kresp.(*kmsg.ListOffsetsResponse).Topics
	if len(topics) == 0 || len(topics[0].Partitions) == 0 {
		return 0, errLeftOut
	}
	p := &topics[0].Partitions[0]
	return p.Offset, moved(p.ErrorCode)
}

// moved tells what another leader, or other metadata, may mend. It is nil for no
// error.
func moved(code int16) error {
	switch c := retry.Code(code); c {
	case retry.None:
		return nil
	case retry.NotLeaderOrFollower, retry.FencedLeaderEpoch, retry.UnknownLeaderEpoch, retry.UnknownTopicOrPartition:
		return fmt.Errorf("%w: %w", ErrMoved, c)
	default:
		return c
	}
}
