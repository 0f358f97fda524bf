package producertest

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// aged is a batch of one record with a timestamp of so long ago.
func aged(id int64, base int32, age time.Duration) *kmsg.ProduceRequest {
	b := seq{id, 0, base, 1, "v"}.encode()
	binary.BigEndian.PutUint64(b[maxTimestampAt:], uint64(time.Now().Add(-age).UnixMilli()))
	fixCRC(b)
	return produceRaw("t", 0, b)
}

// known counts the producers that the broker knows.
func known(r *client) int {
	q := kmsg.NewPtrDescribeProducersRequest()
	qt := kmsg.NewDescribeProducersRequestTopic()
	qt.Topic, qt.Partitions = "t", []int32{0}
	q.Topics = append(q.Topics, qt)
	return len(r.ask(q).(*kmsg.DescribeProducersResponse).Topics[0].Partitions[0].ActiveProducers)
}

// expiring runs a test with brokers that forget after an hour, and look each
// minute.
func expiring(t *testing.T, test func(c *Cluster, r *client)) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, Config{
			Topics: map[string]int32{"t": 1}, InMemory: true,
			ProducerIDExpiration: time.Hour, ProducerIDExpirationCheck: time.Minute,
		})
		defer c.Close()
		test(c, connect(t, c, 0))
	})
}

// Young records are remembered for the expiration, and up to the next look.
func TestProducersExpire(t *testing.T) {
	expiring(t, func(_ *Cluster, r *client) {
		time.Sleep(time.Second)
		r.ask(aged(7, 0, 0))
		time.Sleep(time.Hour + 58*time.Second)
		want(t, "before the look", known(r), 1)
		time.Sleep(time.Second)
		want(t, "after it", known(r), 0)
		r.send(aged(7, 5, 0))
		want(t, "any sequence is taken", r.produced(), answer{0, 1})
	})
}

// It is the timestamp of the last batch that counts, and not when it came in.
func TestProducersExpireByTimestamps(t *testing.T) {
	expiring(t, func(_ *Cluster, r *client) {
		time.Sleep(time.Second)
		r.ask(aged(7, 0, 0))
		r.ask(aged(7, 1, 2*time.Hour))
		r.ask(aged(8, 0, 2*time.Hour))
		r.ask(aged(8, 1, 0))
		r.ask(aged(9, 0, time.Hour-90*time.Second))
		want(t, "before the look", known(r), 3)
		r.send(aged(7, 3, 0))
		want(t, "a gap, before the look", r.produced(), answer{45, -1})
		time.Sleep(59 * time.Second)
		want(t, "after it", known(r), 2)
		r.send(aged(7, 3, 2*time.Hour))
		want(t, "a gap, after it", r.produced(), answer{0, 5})
		want(t, "old, but written since", known(r), 3)
		time.Sleep(time.Minute)
		want(t, "after another one", known(r), 1)
	})
}

// A broker that starts loads no producer that has expired, with or without a look.
func TestProducersExpireAtStart(t *testing.T) {
	expiring(t, func(c *Cluster, r *client) {
		r.ask(aged(7, 0, 2*time.Hour))
		r.ask(aged(8, 0, 0))
		if err := c.Restart(0); err != nil {
			t.Fatal(err)
		}
		want(t, "after the start", known(connect(t, c, 0)), 1)
	})
}

// Without an expiration nothing is forgotten.
func TestProducersDoNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, Config{Topics: map[string]int32{"t": 1}, InMemory: true})
		defer c.Close()
		r := connect(t, c, 0)
		r.ask(aged(7, 0, 2*time.Hour))
		time.Sleep(1000 * time.Hour)
		want(t, "known", known(r), 1)
		if err := c.Restart(0); err != nil {
			t.Fatal(err)
		}
		want(t, "after a start", known(connect(t, c, 0)), 1)
	})
}
