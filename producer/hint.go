package producer

import (
	"errors"
	"log/slog"
	"math"

	"github.com/sluice-kafka/sluice/internal/cluster"
	"github.com/sluice-kafka/sluice/retry"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var errNotAnswered = errors.New("the broker's response leaves the partition out")

// leaderHint returns what a refusal says about the leader, nil if nothing
// (KIP-951).
func leaderHint(at *attempt, rp *kmsg.ProduceResponseTopicPartition, brokers []kmsg.ProduceResponseBroker) *cluster.LeaderHint {
	if retry.Code(rp.ErrorCode) != retry.NotLeaderOrFollower || rp.CurrentLeader.LeaderID < 0 {
		return nil
	}
	h := &cluster.LeaderHint{
		Topic: at.p.topic.name, TopicID: at.topic, Partition: at.p.index,
		Leader: rp.CurrentLeader.LeaderID, LeaderEpoch: rp.CurrentLeader.LeaderEpoch,
	}
	for _, b := range brokers {
		if b.NodeID == h.Leader {
			h.Endpoint = &cluster.Broker{ID: b.NodeID, Host: b.Host, Port: b.Port}
		}
	}
	return h
}

// possible returns the base offset of an answer, -1 if no log can have the batch
// there.
func (p *partition) possible(b *batch, base int64, fx *effects) int64 {
	if base >= -1 && base <= math.MaxInt64-int64(b.Records()) {
		return base
	}
	fx.say(slog.LevelWarn, "the broker names an impossible offset", "base_offset", base, "records", b.Records())
	return -1
}
