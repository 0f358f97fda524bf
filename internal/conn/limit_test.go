package conn

import (
	"math"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker that refuses every record of a request, each with a sentence of its
// own, exceeds no limit; nor does one with nothing but partitions.
func TestProduceLimitIsAboveHonestAnswers(t *testing.T) {
	sentence := "Compacted topic cannot accept message without key in topic partition " + strings.Repeat("t", 249) + "-100000."
	for _, c := range []struct{ partitions, records int }{{1, 1}, {1, 15_000}, {2_000, 1}, {100, 1_000}} {
		for _, version := range []int16{8, 10, 13} {
			resp := &kmsg.ProduceResponse{Version: version}
			for range c.partitions {
				p := kmsg.NewProduceResponseTopicPartition()
				p.ErrorCode, p.ErrorMessage = 87, kmsg.StringPtr(strings.Repeat(sentence, 4))
				for i := range c.records {
					p.ErrorRecords = append(p.ErrorRecords, kmsg.ProduceResponseTopicPartitionErrorRecord{
						RelativeOffset: int32(i), ErrorMessage: &sentence,
					})
				}
				resp.Topics = append(resp.Topics, kmsg.ProduceResponseTopic{
					Topic: strings.Repeat("t", 249), Partitions: []kmsg.ProduceResponseTopicPartition{p},
				})
				resp.Brokers = append(resp.Brokers, kmsg.ProduceResponseBroker{
					Host: strings.Repeat("h", 253), Rack: kmsg.StringPtr(strings.Repeat("r", 253)),
				})
			}
			if got, most := len(resp.AppendTo(nil)), ProduceLimit(c.partitions, c.partitions*c.records); got > most {
				t.Errorf("version %d, %+v: %d bytes, the limit is %d", version, c, got, most)
			}
		}
	}
	if got := ProduceLimit(1, math.MaxInt32); got+correlationBytes != math.MaxInt32 {
		t.Errorf("no frame has %d bytes", got)
	}
}

// Metadata of as many topics as were asked for, 150 partitions each.
func TestMetadataLimitGrowsWithTheTopics(t *testing.T) {
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic = kmsg.StringPtr(strings.Repeat("t", 249))
	for range 150 {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Replicas, p.ISR = []int32{1, 2, 3}, []int32{1, 2, 3}
		topic.Partitions = append(topic.Partitions, p)
	}
	req := kmsg.NewPtrMetadataRequest()
	resp := &kmsg.MetadataResponse{Version: 12}
	for range 10_000 {
		req.Topics = append(req.Topics, kmsg.NewMetadataRequestTopic())
		resp.Topics = append(resp.Topics, topic)
	}
	if got, most := len(resp.AppendTo(nil)), Limit(req); got > most {
		t.Errorf("%d bytes, the limit is %d", got, most)
	}
}

func TestLimitsOfSmallRequests(t *testing.T) {
	for _, req := range []kmsg.Request{
		kmsg.NewPtrApiVersionsRequest(), kmsg.NewPtrInitProducerIDRequest(), kmsg.NewPtrSASLAuthenticateRequest(), kmsg.NewPtrSASLHandshakeRequest(),
	} {
		if got := Limit(req); got > 1<<20 {
			t.Errorf("%s may have %d bytes", kmsg.NameForKey(req.Key()), got)
		}
	}
}
