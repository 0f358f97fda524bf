package producertest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchRequest asks for t/0 from an offset.
func fetchRequest(offset int64, wait time.Duration, minBytes int32) *kmsg.FetchRequest {
	q := kmsg.NewPtrFetchRequest()
	q.Version, q.MaxWaitMillis, q.MinBytes, q.MaxBytes = 12, int32(wait.Milliseconds()), minBytes, 1<<20
	qt := kmsg.NewFetchRequestTopic()
	qt.Topic = "t"
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = offset, 1<<20
	qt.Partitions = append(qt.Partitions, p)
	q.Topics = append(q.Topics, qt)
	return q
}

func fetched(m kmsg.Response) kmsg.FetchResponseTopicPartition {
	return m.(*kmsg.FetchResponse).Topics[0].Partitions[0]
}

func TestFetchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, Config{Topics: map[string]int32{"t": 1}, InMemory: true})
		r, p := connect(t, c, 0), connect(t, c, 0)
		begun := time.Now()
		want(t, "nothing", len(fetched(r.ask(fetchRequest(0, 5*time.Second, 1))).RecordBatches), 0)
		want(t, "after", time.Since(begun), 5*time.Second)

		one := seq{7, 0, 0, 1, "v"}
		size := len(one.encode())
		r.send(fetchRequest(0, time.Hour, int32(size+1)))
		p.produce(one)
		synctest.Wait()
		time.Sleep(time.Minute) // virtual: too few bytes yet
		p.produce(seq{7, 0, 1, 1, "v"})
		e := fetched(r.recv())
		want(t, "bytes", len(e.RecordBatches), 2*size)
		want(t, "after", time.Since(begun), time.Minute+5*time.Second)
		want(t, "high watermark", e.HighWatermark, 2)
		c.Close()
	})
}

// A connection that ends does not keep its fetch waiting.
func TestFetchEndsWithConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, Config{Topics: map[string]int32{"t": 1}, InMemory: true})
		r := connect(t, c, 0)
		r.send(fetchRequest(0, time.Hour, 1))
		synctest.Wait()
		r.conn.Close()
		synctest.Wait()
		want(t, "connections", len(c.brokers[0].connections), 0)
		c.Close()
	})
}

func TestFetchLimits(t *testing.T) {
	c := start(t, Config{Brokers: 2, Topics: map[string]int32{"t": 1}})
	r := connect(t, c, 0)
	for i := range int32(3) {
		r.produce(seq{7, 0, 2 * i, 2, "v"})
	}
	size := len(c.Log("t", 0)[0].Bytes)
	q := fetchRequest(3, 0, 0)
	want(t, "from inside a batch", len(fetched(r.ask(q)).RecordBatches), 2*size)
	q.MaxBytes = 1
	want(t, "one at least", len(fetched(r.ask(q)).RecordBatches), size)
	q.MaxBytes = int32(size) + 1
	want(t, "whole batches", len(fetched(r.ask(q)).RecordBatches), size)
	q.Topics[0].Partitions[0].PartitionMaxBytes = 1
	q.Topics[0].Partitions = append(q.Topics[0].Partitions, q.Topics[0].Partitions[0])
	ps := r.ask(q).(*kmsg.FetchResponse).Topics[0].Partitions
	want(t, "one partition only", len(ps[0].RecordBatches)+len(ps[1].RecordBatches), size)
}

func TestFetchErrors(t *testing.T) {
	c := start(t, Config{Brokers: 2, Topics: map[string]int32{"t": 1}})
	if err := c.MoveLeader("t", 0, 0); err != nil {
		t.Fatal(err)
	}
	r := connect(t, c, 0)
	ask := func(change func(q *kmsg.FetchRequest, p *kmsg.FetchRequestTopicPartition)) int16 {
		q := fetchRequest(0, time.Hour, 1) // an error does not wait
		change(q, &q.Topics[0].Partitions[0])
		return fetched(r.ask(q)).ErrorCode
	}
	type q = kmsg.FetchRequest
	type p = kmsg.FetchRequestTopicPartition
	want(t, "beyond the end", ask(func(_ *q, p *p) { p.FetchOffset = 1 }), 1)
	want(t, "before the beginning", ask(func(_ *q, p *p) { p.FetchOffset = -1 }), 1)
	want(t, "partition", ask(func(_ *q, p *p) { p.Partition = 1 }), 3)
	want(t, "topic", ask(func(q *q, _ *p) { q.Topics[0].Topic = "absent" }), 3)
	want(t, "topic ID", ask(func(q *q, _ *p) { q.Version, q.Topics[0].TopicID = 13, topicID{1} }), 100)
	want(t, "old leader epoch", ask(func(_ *q, p *p) { p.CurrentLeaderEpoch = 0 }), 74)
	want(t, "new leader epoch", ask(func(_ *q, p *p) { p.CurrentLeaderEpoch = 2 }), 75)

	other := fetchRequest(0, 0, 0)
	other.Version = 16
	other.Topics[0].TopicID = c.topics.find("t", topicID{}).id
	m := connect(t, c, 1).ask(other).(*kmsg.FetchResponse)
	want(t, "not leader", fetched(m).ErrorCode, 6)
	want(t, "leader", fetched(m).CurrentLeader.LeaderID, 0)
	want(t, "endpoint", m.Brokers[0].Port, c.brokers[0].port)
}

func TestListOffsets(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 1, "empty": 1}})
	r := connect(t, c, 0)
	r.produce(seq{7, 0, 0, 3, "v"}) // at ms 0, 1, 2 of its base time
	r.produce(seq{7, 0, 3, 2, "v"}) // at ms 0, 1
	ask := func(topic string, ms int64) (int64, int64) {
		q := kmsg.NewPtrListOffsetsRequest()
		q.Version = 7
		qt := kmsg.NewListOffsetsRequestTopic()
		qt.Topic = topic
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = ms
		qt.Partitions = append(qt.Partitions, p)
		q.Topics = append(q.Topics, qt)
		e := r.ask(q).(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
		return e.Offset, e.Timestamp
	}
	const base = 1_700_000_000_000
	for _, x := range []struct {
		topic              string
		ms, offset, atTime int64
	}{
		{"t", -1, 5, -1},
		{"t", -2, 0, -1},
		{"t", -3, 2, base + 2},
		{"t", 1, 0, base},
		{"t", base + 1, 1, base + 1},
		{"t", base + 3, -1, -1},
		{"empty", -3, -1, -1},
	} {
		offset, at := ask(x.topic, x.ms)
		want(t, "offset", offset, x.offset)
		want(t, "timestamp", at, x.atTime)
	}
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 1}})
	r := connect(t, c, 0)
	r.produce(seq{7, 0, 0, 3, "v"})
	for range 2 {
		if err := c.MoveLeader("t", 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	r.produce(seq{7, 0, 3, 2, "v"})
	for epoch, end := range []int64{3, 3, 5, -1} {
		q := kmsg.NewPtrOffsetForLeaderEpochRequest()
		q.Version = 4
		qt := kmsg.NewOffsetForLeaderEpochRequestTopic()
		qt.Topic = "t"
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.LeaderEpoch = int32(epoch)
		qt.Partitions = append(qt.Partitions, p)
		q.Topics = append(q.Topics, qt)
		e := r.ask(q).(*kmsg.OffsetForLeaderEpochResponse).Topics[0].Partitions[0]
		want(t, "end", e.EndOffset, end)
	}
}
