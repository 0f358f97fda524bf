package producer

import (
	"errors"
	"strconv"

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

// quoted makes a broker's words safe to show: one line, not endless.
func quoted(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most]
	}
	return strconv.Quote(s)
}
