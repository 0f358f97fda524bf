package producer_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/verify"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// verified is a producer on real sockets, with a tap on them, whose log an
// independent consumer reads back.
type verified struct {
	c   *producertest.Cluster
	p   *producer.Producer
	tap *tap
	log *verify.Log
}

func newVerified(t *testing.T, cc producertest.Config, change func(*config.Config)) *verified {
	t.Helper()
	c, err := producertest.New(cc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cfg := config.Default()
	cfg.BootstrapServers = c.Addrs()
	change(&cfg)
	v := &verified{c: c, tap: newTap(c.Dial, cfg.MaxInFlightSequences), log: verify.New("t", 0)}
	cfg.Dialer = v.tap.dial
	if v.p, err = producer.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.p.Abort)
	return v
}

// produce produces the next record to topic t.
func (v *verified) produce(at producer.Pin) { v.into(v.log, at) }

// into is produce for one of several callers, each with a log of its own.
func (v *verified) into(log *verify.Log, at producer.Pin) {
	value, n := log.Value(nil, recordSize)
	v.p.Produce(context.Background(), producer.Record{Topic: "t", Value: value, Partition: at}, func(r producer.Result) {
		log.Note(n, outcomes[r.Outcome], r.Partition, r.Offset)
	})
}

var outcomes = map[producer.Outcome]verify.Outcome{
	producer.Written: verify.Written, producer.NotWritten: verify.NotWritten, producer.Unknown: verify.Unknown,
}

// judge closes the producer, reads back, and wants every record written.
func (v *verified) judge(t *testing.T, logs ...*verify.Log) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := v.p.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if len(logs) == 0 {
		logs = []*verify.Log{v.log}
	}
	for _, log := range logs {
		verdict, err := log.Read(ctx, v.c.Addrs())
		if err != nil || verdict.Faults() > 0 || verdict.Read != verdict.Records {
			t.Errorf("%v, %v", &verdict, err)
		}
	}
	for _, f := range append(v.c.Violations(), v.tap.wrongs()...) {
		t.Error(f)
	}
}
