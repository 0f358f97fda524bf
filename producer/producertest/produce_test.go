package producertest

import (
	"errors"
	"io"
	"math"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// step is a batch and what the broker makes of it.
type step struct {
	epoch         int16
	base, records int32
	want          answer
}

func ten(base int32, want answer) step { return step{0, base, 10, want} }

// upTo is n batches of ten records, all appended, from sequence 0.
func upTo(n int32, more ...step) []step {
	var s []step
	for i := range n {
		s = append(s, ten(10*i, answer{0, int64(10 * i)}))
	}
	return append(s, more...)
}

// What real brokers answered (4.4.0), stock and taught KIP-758.
func TestJudgesBatches(t *testing.T) {
	stock, window := Config{}, Config{SequenceWindow: 30}
	for name, test := range map[string]struct {
		cfg   Config
		steps []step
	}{
		"stock: five are recognised": {stock, upTo(6,
			ten(50, answer{0, 50}), ten(10, answer{0, 10}), ten(0, answer{45, -1}), ten(60, answer{0, 60}))},
		"stock: recut": {stock, upTo(2,
			step{0, 0, 20, answer{45, -1}}, step{0, 10, 5, answer{45, -1}}, step{0, 10, 11, answer{45, -1}})},
		"stock: a gap":                     {stock, upTo(1, ten(11, answer{45, -1}), ten(10, answer{0, 10}))},
		"stock: unknown, any first":        {stock, []step{ten(1000, answer{0, 0}), ten(0, answer{45, -1})}},
		"stock: a newer epoch begins at 0": {stock, upTo(1, step{3, 10, 10, answer{45, -1}}, step{3, 0, 10, answer{0, 10}})},
		"stock: an older epoch":            {stock, upTo(1, step{2, 0, 1, answer{0, 10}}, ten(0, answer{47, -1}), ten(10, answer{47, -1}))},
		"stock: over the wrap": {stock, []step{
			{0, math.MaxInt32 - 2, 5, answer{0, 0}}, {0, math.MaxInt32 - 2, 5, answer{0, 0}}, {0, 2, 1, answer{0, 5}}}},
		"4.5: first must be 0": {Config{FirstMustBeZero: true}, []step{ten(10, answer{45, -1}), ten(0, answer{0, 0})}},
		"kip-758: the latest is recognised, others only known": {window, upTo(6,
			ten(50, answer{0, 50}), ten(40, answer{46, -1}), ten(30, answer{46, -1}), ten(20, answer{45, -1}), ten(61, answer{45, -1}))},
		"kip-758: the latest and one more":       {window, upTo(2, step{0, 10, 11, answer{46, -1}})},
		"kip-758: the edge of the window":        {window, upTo(6, step{0, 30, 1, answer{46, -1}}, step{0, 29, 1, answer{45, -1}})},
		"a window of one broker":                 {Config{BrokerWindows: map[int32]int32{0: 30}}, upTo(2, ten(0, answer{46, -1}))},
		"a stock broker in a cluster of windows": {Config{SequenceWindow: 30, BrokerWindows: map[int32]int32{0: 0}}, upTo(2, ten(0, answer{0, 0}))},
	} {
		t.Run(name, func(t *testing.T) {
			test.cfg.Topics = map[string]int32{"t": 1}
			r := connect(t, start(t, test.cfg), 0)
			for i, s := range test.steps {
				if got := r.produce(seq{7, s.epoch, s.base, s.records, "v"}); got != s.want {
					t.Errorf("step %d, epoch %d sequence %d (%d): got %v, want %v", i, s.epoch, s.base, s.records, got, s.want)
				}
			}
		})
	}
}

func TestValidatesBatches(t *testing.T) {
	good := seq{7, 0, 0, 3, "v"}.encode()
	edit := func(f func(b []byte)) []byte {
		b := append([]byte(nil), good...)
		f(b)
		return b
	}
	crc := func(f func(b []byte)) []byte { return edit(func(b []byte) { f(b); fixCRC(b) }) }
	for name, test := range map[string]struct {
		records []byte
		code    int16
	}{
		"good":              {good, 0},
		"nothing":           {nil, 87},
		"cut off":           {good[:len(good)-1], 87},
		"two batches":       {append(edit(func([]byte) {}), good...), 87},
		"magic 1":           {edit(func(b []byte) { b[magicAt] = 1 }), 87},
		"an offset":         {edit(func(b []byte) { b[7] = 1 }), 87},
		"bad crc":           {edit(func(b []byte) { b[len(b)-1]++ }), 2},
		"too large":         {seq{7, 0, 0, 3, string(make([]byte, 400))}.encode(), 10},
		"count":             {crc(func(b []byte) { b[60]++ }), 87},
		"no records":        {crc(func(b []byte) { b[60], b[26] = 0, 0xff }), 87},
		"negative sequence": {crc(func(b []byte) { b[53] = 0x80 }), 87},
		"negative epoch":    {crc(func(b []byte) { b[51] = 0x80 }), 87},
		"codec":             {crc(func(b []byte) { b[22] = 5 }), 76},
		"transactional":     {crc(func(b []byte) { b[22] = 1 << 4 }), 48},
		"control":           {crc(func(b []byte) { b[22] = 1 << 5 }), 87},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, Config{Topics: map[string]int32{"t": 1}, MaxMessageBytes: 1000})
			r := connect(t, c, 0)
			r.send(produceRaw("t", 0, test.records))
			want(t, "code", r.produced().code, test.code)
			want(t, "in the log", len(c.Log("t", 0)), map[bool]int{true: 1}[test.code == 0])
			want(t, "next", r.produce(seq{8, 0, 0, 1, "v"}).code, 0)
		})
	}
}

func TestOldProduceHasNoZstd(t *testing.T) {
	b := seq{7, 0, 0, 3, "v"}.encode()
	b[22] = 4
	fixCRC(b)
	r := connect(t, start(t, Config{Topics: map[string]int32{"t": 1}}), 0)
	q := produceRaw("t", 0, b)
	q.Version = 6
	r.send(q)
	want(t, "code", r.produced().code, 76)
}

func TestProduceErrors(t *testing.T) {
	c := start(t, Config{Brokers: 2, Topics: map[string]int32{"t": 1}})
	r := connect(t, c, 0)
	one := seq{7, 0, 0, 1, "v"}
	r.send(one.on("absent", 0))
	want(t, "unknown topic", r.produced(), answer{3, -1})
	r.send(one.on("t", 1))
	want(t, "unknown partition", r.produced(), answer{3, -1})
	q := one.on("t", 0)
	q.Acks = 2
	r.send(q)
	want(t, "acks", r.produced(), answer{21, -1})
	q = one.on("", 0)
	q.Version, q.Topics[0].TopicID = 13, topicID{1}
	r.send(q)
	want(t, "unknown ID", r.produced(), answer{100, -1})

	other := connect(t, c, 1)
	m := other.ask(one.on("t", 0)).(*kmsg.ProduceResponse)
	p := m.Topics[0].Partitions[0]
	want(t, "not leader", answer{p.ErrorCode, p.BaseOffset}, answer{6, -1})
	want(t, "leader", p.CurrentLeader.LeaderID, 0)
	want(t, "epoch", p.CurrentLeader.LeaderEpoch, 0)
	want(t, "endpoints", len(m.Brokers), 1)
	want(t, "endpoint", m.Brokers[0].Port, c.brokers[0].port)
	old := one.on("t", 0)
	old.Version = 9
	m = other.ask(old).(*kmsg.ProduceResponse)
	want(t, "hint before version 10", m.Topics[0].Partitions[0].CurrentLeader.LeaderID, -1)
}

func TestProduceByTopicID(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 1}})
	r := connect(t, c, 0)
	md := kmsg.NewPtrMetadataRequest()
	md.Version = 13
	id := r.ask(md).(*kmsg.MetadataResponse).Topics[0].TopicID
	q := seq{7, 0, 0, 1, "v"}.on("", 0)
	q.Version, q.Topics[0].TopicID = 13, id
	m := r.ask(q).(*kmsg.ProduceResponse)
	want(t, "id", m.Topics[0].TopicID, id)
	want(t, "code", m.Topics[0].Partitions[0].ErrorCode, 0)

	if err := errors.Join(c.DeleteTopic("t"), c.CreateTopic("t", 1)); err != nil {
		t.Fatal(err)
	}
	r.send(q)
	want(t, "after it was recreated", r.produced(), answer{100, -1})
	now := r.ask(md).(*kmsg.MetadataResponse).Topics[0].TopicID
	if now == id {
		t.Error("a recreated topic has the old ID")
	}
	want(t, "log", len(c.Log("t", 0)), 0)
}

// A request by topic ID does not go to another topic of the same name.
func TestHeldRequestMeetsRecreatedTopic(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 1}})
	c.OnProduce(func(ProduceAttempt) Fault {
		if err := errors.Join(c.DeleteTopic("t"), c.CreateTopic("t", 1)); err != nil {
			t.Error(err)
		}
		return Fault{}
	})
	q := seq{7, 0, 0, 1, "v"}.on("", 0)
	q.Version, q.Topics[0].TopicID = 13, c.topics.find("t", topicID{}).id
	r := connect(t, c, 0)
	r.send(q)
	want(t, "answer", r.produced(), answer{100, -1})
}

func TestAcksZero(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 1}})
	r := connect(t, c, 0)
	q := seq{7, 0, 0, 1, "v"}.on("t", 0)
	q.Acks = 0
	r.send(q)
	r.sent = nil // no answer will come
	m := r.ask(seq{7, 0, 1, 1, "v"}.on("t", 0)).(*kmsg.ProduceResponse)
	want(t, "second", m.Topics[0].Partitions[0].BaseOffset, 1)
	q = seq{7, 0, 9, 1, "v"}.on("t", 0)
	q.Acks = 0
	r.send(q)
	if err := r.end(); err == nil {
		t.Error("an error with acks=0 must end the connection")
	}
}

// A request above the limit ends the connection without an answer.
func TestRequestTooLarge(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 1}, MaxRequestBytes: 1000})
	r := connect(t, c, 0)
	r.send(produceRaw("t", 0, make([]byte, 2000)))
	if err := r.end(); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("ended with %v", err)
	}
}

func TestMoveLeader(t *testing.T) {
	c := start(t, Config{Brokers: 2, Topics: map[string]int32{"t": 1}})
	a, b := connect(t, c, 0), connect(t, c, 1)
	one := seq{7, 0, 0, 1, "v"}
	want(t, "before", a.produce(one), answer{0, 0})
	if err := c.MoveLeader("t", 0, 1); err != nil {
		t.Fatal(err)
	}
	want(t, "old leader", a.produce(one), answer{6, -1})
	want(t, "known at the new one", b.produce(one), answer{0, 0})
	want(t, "next", b.produce(seq{7, 0, 1, 1, "v"}), answer{0, 1})
	leader, epoch, err := c.Leader("t", 0)
	want(t, "leader", leader, 1)
	want(t, "epoch", epoch, 1)
	want(t, "error", err, nil)
	want(t, "epoch in the log", c.Log("t", 0)[1].LeaderEpoch, 1)
}

// A snapshot keeps the latest batch only: the memory of five becomes one.
func TestRestartShrinksMemory(t *testing.T) {
	c := start(t, Config{Brokers: 2, Topics: map[string]int32{"t": 1, "u": 2}})
	r, other := connect(t, c, 0), connect(t, c, 1)
	for i := range int32(3) {
		r.produce(seq{7, 0, i, 1, "v"})
		other.send(seq{7, 0, i, 1, "v"}.on("u", 1))
		other.produced()
	}
	want(t, "before", r.produce(seq{7, 0, 1, 1, "v"}), answer{0, 1})
	if err := c.Restart(0); err != nil {
		t.Fatal(err)
	}
	if err := r.end(); err == nil {
		t.Error("the connection lives")
	}
	r = connect(t, c, 0)
	want(t, "one before the latest", r.produce(seq{7, 0, 1, 1, "v"}), answer{45, -1})
	want(t, "latest", r.produce(seq{7, 0, 2, 1, "v"}), answer{0, 2})
	other.send(seq{7, 0, 1, 1, "v"}.on("u", 1))
	want(t, "a partition of another leader", other.produced(), answer{0, 1})
}

func TestForgetProducers(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 1}, FirstMustBeZero: true})
	r := connect(t, c, 0)
	r.produce(seq{7, 0, 0, 1, "v"})
	want(t, "known", r.produce(seq{7, 0, 5, 1, "v"}), answer{45, -1})
	if err := c.ForgetProducers("t", 0); err != nil {
		t.Fatal(err)
	}
	want(t, "forgotten", r.produce(seq{7, 0, 5, 1, "v"}), answer{0, 1})
}

func TestLogAppendTime(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 1}, LogAppendTime: true})
	r := connect(t, c, 0)
	at := r.ask(seq{7, 0, 0, 2, "v"}.on("t", 0)).(*kmsg.ProduceResponse).Topics[0].Partitions[0].LogAppendTime
	records, err := c.Records("t", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range records {
		want(t, "timestamp", rec.Timestamp.UnixMilli(), at)
	}
	if b := parseBatch(c.Log("t", 0)[0].Bytes, 12); b.head.FirstOffset != 0 || b.check(1e6) != 0 {
		t.Error("the batch in the log has a wrong CRC")
	}
}

// A duplicate's answer carries the batch's time, on CreateTime topics too.
func TestDuplicateHasATime(t *testing.T) {
	c := start(t, Config{Topics: map[string]int32{"t": 1}})
	r := connect(t, c, 0)
	for _, ms := range []int64{-1, 1_700_000_000_001} {
		m := r.ask(seq{7, 0, 0, 2, "v"}.on("t", 0)).(*kmsg.ProduceResponse)
		want(t, "append time", m.Topics[0].Partitions[0].LogAppendTime, ms)
	}
}
