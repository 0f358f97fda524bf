package producertest

import (
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func tagOf(tags *kmsg.Tags) (window int32) {
	tags.Each(func(tag uint32, v []byte) {
		if tag == windowTag {
			window = int32(binary.BigEndian.Uint32(v))
		}
	})
	return window
}

func TestNamesWindow(t *testing.T) {
	c := start(t, Config{Brokers: 3, SequenceWindow: 1000, BrokerWindows: map[int32]int32{1: 5, 2: 0}})
	for broker, window := range []int32{1000, 5, 0} {
		r := dial(t, c, broker)
		for v := int16(3); v <= 4; v++ {
			m := r.ask(apiVersionsRequest(v)).(*kmsg.ApiVersionsResponse)
			want(t, "ApiVersions", tagOf(&m.UnknownTags), window)
			want(t, "named", namedWindow(m), window)
		}
		q := kmsg.NewPtrInitProducerIDRequest()
		q.Version = 2
		m := r.ask(q).(*kmsg.InitProducerIDResponse)
		want(t, "InitProducerId", tagOf(&m.UnknownTags), window)
	}
	m := dial(t, c, 0).ask(apiVersionsRequest(2)).(*kmsg.ApiVersionsResponse)
	want(t, "version 2 has no tags", tagOf(&m.UnknownTags), 0)
}

func TestApiVersions(t *testing.T) {
	c := start(t, Config{MaxVersions: map[int16]int16{keyApiVersions: 2, keyProduce: 8, keyDescribeProducers: -1}})
	r := dial(t, c, 0)
	q := apiVersionsRequest(4)
	r.send(q)
	b, err := r.frame()
	if err != nil {
		t.Fatal(err)
	}
	var m kmsg.ApiVersionsResponse // version 0, whatever was asked
	if err := m.ReadFrom(b[4:]); err != nil {
		t.Fatal(err)
	}
	want(t, "code", m.ErrorCode, 35)
	want(t, "keys", len(m.ApiKeys), 1)
	want(t, "highest", m.ApiKeys[0].MaxVersion, 2)
	r.sent = nil

	highest := map[int16]int16{}
	for _, k := range r.ask(apiVersionsRequest(2)).(*kmsg.ApiVersionsResponse).ApiKeys {
		highest[k.ApiKey] = k.MaxVersion
	}
	want(t, "Produce", highest[keyProduce], 8)
	if _, ok := highest[keyDescribeProducers]; ok {
		t.Error("a request that was taken away is offered")
	}
	r.send(seq{7, 0, 0, 1, "v"}.on("t", 0)) // version 12
	if err := r.end(); err == nil {
		t.Error("a version that is not offered must end the connection")
	}
}

func TestApiVersionsWantsAName(t *testing.T) {
	q := apiVersionsRequest(3)
	q.ClientSoftwareName = "-x"
	m := dial(t, start(t, Config{}), 0).ask(q).(*kmsg.ApiVersionsResponse)
	want(t, "code", m.ErrorCode, 42)
}

func TestInitProducerID(t *testing.T) {
	r := connect(t, start(t, Config{Brokers: 2}), 1)
	q := kmsg.NewPtrInitProducerIDRequest()
	q.Version = 5
	q.ProducerID, q.ProducerEpoch = -1, -1
	for id := range int64(2) {
		m := r.ask(q).(*kmsg.InitProducerIDResponse)
		want(t, "id", m.ProducerID, id)
		want(t, "epoch", m.ProducerEpoch, 0)
	}
	q.ProducerID, q.ProducerEpoch = 1, 3
	want(t, "a given one is ignored", r.ask(q).(*kmsg.InitProducerIDResponse).ProducerID, 2)
	q.ProducerEpoch = -1
	want(t, "half given", r.ask(q).(*kmsg.InitProducerIDResponse).ErrorCode, 42)
	q.ProducerID, q.TransactionalID = -1, kmsg.StringPtr("x")
	want(t, "transactional", r.ask(q).(*kmsg.InitProducerIDResponse).ErrorCode, 53)
}

// describeRequest asks for the producers of t/0, and of t/1.
func describeRequest() *kmsg.DescribeProducersRequest {
	q := kmsg.NewPtrDescribeProducersRequest()
	qt := kmsg.NewDescribeProducersRequestTopic()
	qt.Topic, qt.Partitions = "t", []int32{0, 1}
	q.Topics = append(q.Topics, qt)
	return q
}

func TestDescribeProducers(t *testing.T) {
	c := start(t, Config{Brokers: 2, Topics: map[string]int32{"t": 1}})
	r := connect(t, c, 0)
	r.produce(seq{9, 2, 0, 4, "v"})
	r.produce(seq{7, 0, 0, 1, "v"})
	m := connect(t, c, 1).ask(describeRequest()).(*kmsg.DescribeProducersResponse) // any broker answers
	p := m.Topics[0].Partitions
	want(t, "unknown partition", p[1].ErrorCode, 3)
	want(t, "producers", len(p[0].ActiveProducers), 2)
	a := p[0].ActiveProducers[1]
	want(t, "id", a.ProducerID, 9)
	want(t, "epoch", a.ProducerEpoch, 2)
	want(t, "last sequence", a.LastSequence, 3)
	want(t, "last timestamp", a.LastTimestamp, 1_700_000_000_003)
}

func TestMetadata(t *testing.T) {
	c := start(t, Config{Brokers: 2, Topics: map[string]int32{"t": 3}, AutoCreateTopics: 2})
	r := connect(t, c, 1)
	q := kmsg.NewPtrMetadataRequest()
	q.Version = 8
	ask := func(auto bool, names ...string) []kmsg.MetadataResponseTopic {
		q.AllowAutoTopicCreation = auto
		q.Topics = []kmsg.MetadataRequestTopic{}
		for _, n := range names {
			qt := kmsg.NewMetadataRequestTopic()
			qt.Topic = kmsg.StringPtr(n)
			q.Topics = append(q.Topics, qt)
		}
		m := r.ask(q).(*kmsg.MetadataResponse)
		want(t, "brokers", len(m.Brokers), 2)
		return m.Topics
	}
	want(t, "no topics asked", len(ask(true)), 0)
	ts := ask(false, "t", "new", "bad name")
	want(t, "leader of 1", ts[0].Partitions[1].Leader, 1)
	want(t, "leader of 2", ts[0].Partitions[2].Leader, 0)
	want(t, "not created", ts[1].ErrorCode, 3)
	want(t, "bad name", ts[2].ErrorCode, 17)
	want(t, "created", len(ask(true, "new")[0].Partitions), 2)
	if err := c.AddPartitions("new", 1); err != nil {
		t.Fatal(err)
	}
	want(t, "added", len(ask(false, "new")[0].Partitions), 3)
	q.Topics = nil
	want(t, "all", len(r.ask(q).(*kmsg.MetadataResponse).Topics), 2)
}

func TestCreateTopics(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 1}})
	r := connect(t, c, 0)
	q := kmsg.NewPtrCreateTopicsRequest()
	q.Version = 7
	for name, n := range map[string]int32{"a": 3, "b": -1, "t": 1, "": 1, "none": 0} {
		qt := kmsg.NewCreateTopicsRequestTopic()
		qt.Topic, qt.NumPartitions, qt.ReplicationFactor = name, n, 1
		q.Topics = append(q.Topics, qt)
	}
	for _, e := range r.ask(q).(*kmsg.CreateTopicsResponse).Topics {
		want(t, e.Topic, e.ErrorCode, map[string]int16{"t": 36, "": 17, "none": 37}[e.Topic])
	}
	want(t, "partitions", len(c.topics.find("a", topicID{}).partitions), 3)
}

func TestConfigFaults(t *testing.T) {
	_, err := New(Config{Brokers: -1, SequenceWindow: -1, Topics: map[string]int32{"a b": 1}, MaxMessageBytes: -1, ProducerIDExpiration: -1})
	if err == nil {
		t.Fatal("no error")
	}
	if n := len(err.(interface{ Unwrap() []error }).Unwrap()); n != 5 {
		t.Errorf("%d faults: %v", n, err)
	}
}

func TestAdminErrors(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 1}})
	for i, err := range []error{
		c.CreateTopic("t", 1), c.CreateTopic("x y", 1), c.CreateTopic("u", 0), c.DeleteTopic("u"),
		c.AddPartitions("u", 1), c.AddPartitions("t", -1), c.MoveLeader("t", 1, 0), c.MoveLeader("t", 0, 1),
		c.ForgetProducers("u", 0), c.CutConnections(-1), c.Restart(1), c.Stop(1), c.Start(1),
	} {
		if err == nil {
			t.Errorf("call %d: no error", i)
		}
	}
}
