package realkafka

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a stock broker answers. Each test pins one thing that the design rests
// on: a failure after a change of KafkaVersion says what is different now.

func apiVersions(version int16) *kmsg.ApiVersionsRequest {
	r := kmsg.NewPtrApiVersionsRequest()
	r.SetVersion(version)
	r.ClientSoftwareName, r.ClientSoftwareVersion = "sluice", "1"
	return r
}

func TestApiVersionsWithUnknownTag(t *testing.T) {
	r := apiVersions(4)
	r.UnknownTags.Set(9999, []byte("unknown"))
	resp := must[*kmsg.ApiVersionsResponse](t, connectTo(t, stock.Get(t), 0), r)
	if resp.ErrorCode != none {
		t.Fatalf("code %d", resp.ErrorCode)
	}
	offered := make(map[int16]int16)
	for _, k := range resp.ApiKeys {
		offered[k.ApiKey] = k.MaxVersion
	}
	for key, want := range map[kmsg.Key]int16{
		kmsg.ApiVersions: 5, kmsg.Produce: 13, kmsg.InitProducerID: 5, kmsg.DescribeProducers: 0,
	} {
		if got := offered[int16(key)]; got != want {
			t.Errorf("%s: offers version %d, want %d", key.Name(), got, want)
		}
	}
}

func TestDuplicateOfTheLastFive(t *testing.T) {
	c := stock.Get(t)
	l := newLog(t, c, 1, nil)
	batches := l.fill(newProducer(t, c), 6, 2)
	for _, b := range batches[1:] {
		b.value = "other content"
		l.expect(appended(int64(b.first)), b)
	}
	l.expectEnd(12)
}

func TestDuplicateOfTheSixthLast(t *testing.T) {
	c := stock.Get(t)
	l := newLog(t, c, 1, nil)
	batches := l.fill(newProducer(t, c), 6, 2)
	l.expect(refused(outOfOrderSequence), batches[0])
}

func TestRecutBatch(t *testing.T) {
	c := stock.Get(t)
	id := newProducer(t, c)
	l := newLog(t, c, 1, nil)
	l.fill(id, 3, 2)
	l.expect(refused(outOfOrderSequence),
		batch{producer: id, first: 2, count: 4}, // two as one
		batch{producer: id, first: 4, count: 1}, // half of one
		batch{producer: id, first: 4, count: 3}) // one, and a record more
	l.expectEnd(6)
}

func TestGap(t *testing.T) {
	c := stock.Get(t)
	id := newProducer(t, c)
	l := newLog(t, c, 1, nil)
	l.fill(id, 1, 2)
	l.expect(refused(outOfOrderSequence), batch{producer: id, first: 3, count: 1})
}

func TestUnknownProducerMayBeginAnywhere(t *testing.T) {
	c := stock.Get(t)
	used, empty := newLog(t, c, 1, nil), newLog(t, c, 1, nil)
	used.fill(newProducer(t, c), 1, 3)
	for l, offset := range map[*log]int64{used: 3, empty: 0} {
		id := newProducer(t, c)
		l.expect(appended(offset), batch{producer: id, first: 1000, count: 2})
		l.expect(refused(outOfOrderSequence), batch{producer: id, first: 0, count: 2})
	}
}

// The hazard of the first batch, and why Window has a gate (KAFKA-14312).
func TestFirstOfPipelineRefusedTheOthersAccepted(t *testing.T) {
	c := stock.Get(t)
	l := newLog(t, c, 1, nil)
	id := newProducer(t, c)
	l.write(
		batch{producer: id, first: 0, count: 1, corrupt: true},
		batch{producer: id, first: 1, count: 1},
		batch{producer: id, first: 2, count: 1},
		batch{producer: id, first: 3, count: 1})
	l.expectAnswers(refused(corruptMessage), appended(0), appended(1), appended(2))
}

func (l *log) expectAnswers(want ...verdict) {
	l.t.Helper()
	for i, got := range l.answers(len(want)) {
		if got != want[i] {
			l.t.Errorf("request %d: %v, want %v", i, got, want[i])
		}
	}
}

func TestNewerEpoch(t *testing.T) {
	c := stock.Get(t)
	l := newLog(t, c, 1, nil)
	id := newProducer(t, c)
	l.fill(id, 1, 2)
	l.expect(refused(outOfOrderSequence), batch{producer: id, epoch: 1, first: 2, count: 1})
	l.expect(appended(2), batch{producer: id, epoch: 1, first: 0, count: 1})
	l.expect(appended(3), batch{producer: id, epoch: 9, first: 0, count: 1}) // it may jump
}

func TestOlderEpoch(t *testing.T) {
	c := stock.Get(t)
	l := newLog(t, c, 1, nil)
	id := newProducer(t, c)
	old := l.fill(id, 1, 2)[0]
	l.expect(appended(2), batch{producer: id, epoch: 1, first: 0, count: 1})
	l.expect(refused(invalidProducerEpoch), old, batch{producer: id, first: 2, count: 1})
}

func TestWrap(t *testing.T) {
	c := stock.Get(t)
	l := newLog(t, c, 1, nil)
	id := newProducer(t, c)
	over := batch{producer: id, first: 2147483645, count: 5}
	l.expect(appended(0), over)
	if last, _ := l.describe(0, id); last != 1 {
		t.Errorf("last sequence %d, want 1", last)
	}
	l.expect(appended(5), batch{producer: id, first: 2, count: 1})
	l.expect(appended(0), over)
}

func TestTwoHundredInFlight(t *testing.T) {
	c := stock.Get(t)
	l := newLog(t, c, 1, nil)
	l.fill(newProducer(t, c), 200, 1)
	l.expectEnd(200)
}

// How many are appended is a matter of time (mostly one, and it can be after a
// DescribeProducers was answered without it). What can be relied on: it is the
// first ones.
func TestAbandonedRequests(t *testing.T) {
	for name, linger := range map[string]int{"reset": 0, "plain close": -1} {
		t.Run(name, func(t *testing.T) {
			c := stock.Get(t)
			l := newLog(t, c, 1, nil)
			id := newProducer(t, c)
			batches := make([]batch, 300)
			for i := range batches {
				batches[i] = batch{producer: id, first: int32(i), count: 1}
			}
			l.write(batches...)
			check(t, l.conn.conn.SetLinger(linger))
			l.conn.close()
			var last int32
			eventually(t, func() bool {
				last, _ = l.describe(0, id)
				return last >= 0
			})
			t.Logf("last sequence seen: %d", last)
			for i, b := range l.read() {
				if b.first != int32(i) || b.offset != int64(i) {
					t.Errorf("at offset %d lies sequence %d", b.offset, b.first)
				}
			}
		})
	}
}

func TestRefusedForWhatTheyAre(t *testing.T) {
	c := stock.Get(t)
	id := newProducer(t, c)
	l := newLog(t, c, 1, map[string]string{
		"max.message.bytes":               "1000",
		"message.timestamp.before.max.ms": "3600000",
	})
	l.expect(refused(messageTooLarge), batch{producer: id, count: 1, value: string(make([]byte, 2000))})
	l.expect(refused(invalidTimestamp), batch{producer: id, count: 1, at: time.Now().Add(-2 * time.Hour)})
	l.topic = "no-such-topic"
	l.expect(refused(unknownTopic), batch{producer: id, count: 1})
}

func TestDuplicateWithTimestampTooOldByNow(t *testing.T) {
	c := stock.Get(t)
	l := newLog(t, c, 1, nil)
	old := batch{producer: newProducer(t, c), count: 1, at: time.Now().Add(-2 * time.Hour)}
	l.expect(appended(0), old)
	l.expect(appended(0), old)
	alterTopic(t, l, "message.timestamp.before.max.ms", "3600000")
	var got verdict
	eventually(t, func() bool {
		l.write(old)
		got = l.answers(1)[0]
		return got != appended(0)
	})
	if got != refused(invalidTimestamp) {
		t.Errorf("got %v", got)
	}
}

func alterTopic(t *testing.T, l *log, key, value string) {
	t.Helper()
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = key, &value
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType = kmsg.ConfigResourceTypeTopic
	resource.ResourceName = l.topic
	resource.Configs = append(resource.Configs, config)
	r := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r.SetVersion(1)
	r.Resources = append(r.Resources, resource)
	resp := must[*kmsg.IncrementalAlterConfigsResponse](t, connectTo(t, l.cluster, 0), r)
	check(t, codeError(resp.Resources[0].ErrorCode, resp.Resources[0].ErrorMessage))
}

func TestMinInsyncReplicasAboveReplicationFactor(t *testing.T) {
	c := stock.Get(t)
	l := newLog(t, c, 1, map[string]string{"min.insync.replicas": "2"})
	l.expect(appended(0), batch{producer: newProducer(t, c), count: 1})
}

// KIP-1269 is in no release. Once it is, this fails, and the number of batches
// that a broker retains can be learnt.
func TestNoConfigForTheNumberOfRetainedBatches(t *testing.T) {
	l := newLog(t, stock.Get(t), 1, nil)
	config := kmsg.NewCreateTopicsRequestTopicConfig()
	config.Name, config.Value = "producer.state.batches.to.retain", kmsg.StringPtr("10")
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = l.topic+"-retain", 1, 1
	topic.Configs = append(topic.Configs, config)
	r := kmsg.NewPtrCreateTopicsRequest()
	r.SetVersion(createTopicsVersion)
	r.TimeoutMillis = 10_000
	r.Topics = append(r.Topics, topic)
	if got := must[*kmsg.CreateTopicsResponse](t, l.conn, r).Topics[0].ErrorCode; got != invalidConfig {
		t.Errorf("code %d, want %d", got, invalidConfig)
	}
}
