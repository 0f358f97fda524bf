package producer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// rig is a producer and the cluster it writes to, with a ledger of the records
// and their outcomes that is compared with the log in the end. All its records
// have values from the rig, by which it knows them again.
type rig struct {
	t *testing.T
	c *producertest.Cluster
	p *producer.Producer

	// unordered: several goroutines produce, so that numbers say nothing about
	// the order.
	unordered bool

	mu      sync.Mutex
	entries []*entry
}

type entry struct {
	rec     producer.Record
	results []producer.Result
	refused bool // by TryProduce: there is no callback
}

// tally is how many records had which outcome.
type tally struct{ written, notWritten, unknown, refused int }

// newRig starts a cluster and a producer for it: in memory if the cluster's
// configuration says so. What is not closed in the end is aborted.
func newRig(t *testing.T, cc producertest.Config, change func(*config.Config)) *rig {
	t.Helper()
	return newSpoiltRig(t, cc, func(*producertest.Cluster) {}, change)
}

// newSpoiltRig is newRig for a cluster with faults from the beginning.
func newSpoiltRig(t *testing.T, cc producertest.Config, spoil func(*producertest.Cluster), change func(*config.Config)) *rig {
	t.Helper()
	c, err := producertest.New(cc)
	if err != nil {
		t.Fatal(err)
	}
	spoil(c)
	cfg := config.Default()
	cfg.BootstrapServers = c.Addrs()
	cfg.Dialer = c.Dial
	cfg.AllowAutoCreateTopics = false
	if change != nil {
		change(&cfg)
	}
	p, err := producer.New(cfg)
	if err != nil {
		c.Close()
		t.Fatal(err)
	}
	r := &rig{t: t, c: c, p: p}
	t.Cleanup(func() {
		p.Abort()
		if err := p.Close(r.within(time.Minute)); err != nil {
			t.Error(err)
		}
		c.Close()
	})
	return r
}

// topics is a cluster in memory with one topic t.
func topics(partitions int32) producertest.Config {
	return producertest.Config{InMemory: true, Topics: map[string]int32{"t": partitions}}
}

func (r *rig) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	r.t.Cleanup(cancel)
	return ctx
}

// enter numbers a record; size is that of its value, at least.
func (r *rig) enter(rec producer.Record, size int) (int, producer.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.entries)
	rec.Value = append(fmt.Appendf(nil, "%08d ", n), bytes.Repeat([]byte{'v'}, max(0, size-9))...)
	if rec.Topic == "" {
		rec.Topic = "t"
	}
	r.entries = append(r.entries, &entry{rec: rec})
	return n, rec
}

func (r *rig) note(n int, res producer.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[n].results = append(r.entries[n].results, res)
}

// produce produces a record of some bytes to topic t, unless rec says more.
func (r *rig) produce(ctx context.Context, rec producer.Record, size int) int {
	n, rec := r.enter(rec, size)
	r.p.Produce(ctx, rec, func(res producer.Result) { r.note(n, res) })
	return n
}

func (r *rig) try(rec producer.Record, size int) error {
	n, rec := r.enter(rec, size)
	err := r.p.TryProduce(rec, func(res producer.Result) { r.note(n, res) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[n].refused = err != nil
	return err
}

func (r *rig) sync(ctx context.Context, rec producer.Record, size int) (producer.Result, error) {
	n, rec := r.enter(rec, size)
	res, err := r.p.ProduceSync(ctx, rec)
	r.note(n, res)
	return res, err
}

// results are those that record n has had so far.
func (r *rig) results(n int) []producer.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]producer.Result(nil), r.entries[n].results...)
}

// result is the only one that record n must have by now.
func (r *rig) result(n int) producer.Result {
	r.t.Helper()
	rs := r.results(n)
	if len(rs) != 1 {
		r.t.Fatalf("record %d has %d results", n, len(rs))
	}
	return rs[0]
}

// count is how many records there are.
func (r *rig) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.entries)
}

// done is how many records have their outcome.
func (r *rig) done() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, e := range r.entries {
		n += min(1, len(e.results))
	}
	return n
}

func (r *rig) flush(d time.Duration) {
	r.t.Helper()
	if err := r.p.Flush(r.within(d)); err != nil {
		r.t.Fatalf("flush: %v", err)
	}
}

// judge closes the producer and compares what it said with the log.
func (r *rig) judge() tally {
	r.t.Helper()
	if err := r.p.Close(r.within(5 * time.Minute)); err != nil {
		r.t.Fatalf("close: %v", err)
	}
	return r.judgeClosed()
}

// judgeClosed is judge for a producer that has ended: each record has one
// outcome, what was said of it is what the log shows, no client broke a rule.
func (r *rig) judgeClosed() tally {
	r.t.Helper()
	for _, v := range r.c.Violations() {
		r.t.Errorf("violation: %s", v)
	}
	found := r.readLog()
	r.mu.Lock()
	defer r.mu.Unlock()
	var sum tally
	for n, e := range r.entries {
		if e.refused {
			sum.refused++
			if len(e.results) > 0 || found[n] != nil {
				r.t.Errorf("record %d was refused by TryProduce: %d results, in the log: %v", n, len(e.results), found[n] != nil)
			}
			continue
		}
		if len(e.results) != 1 {
			r.t.Errorf("record %d has %d results", n, len(e.results))
			continue
		}
		r.judgeOne(n, e, found[n], &sum)
	}
	s := r.p.Stats()
	if s.BufferedBytes != 0 || s.Blocked != 0 {
		r.t.Errorf("after the end %d bytes are in use and %d callers wait", s.BufferedBytes, s.Blocked)
	}
	if r.t.Failed() {
		r.t.Logf("first error: %v", r.firstError())
	}
	if s.CallbackPanics == 0 && s.Unknown+s.Written+s.NotWritten != int64(sum.written+sum.notWritten+sum.unknown) && !r.cutShort() {
		r.t.Errorf("outcomes %+v, stats %+v", sum, s)
	}
	return sum
}

func (r *rig) firstError() error {
	for _, e := range r.entries {
		for _, res := range e.results {
			if res.Err != nil {
				return res.Err
			}
		}
	}
	return nil
}

// cutShort reports whether someone stopped waiting for a record, so that what
// was said of it is not what the producer knew in the end.
func (r *rig) cutShort() bool {
	for _, e := range r.entries {
		for _, res := range e.results {
			if errors.Is(res.Err, context.DeadlineExceeded) || errors.Is(res.Err, context.Canceled) {
				return true
			}
		}
	}
	return false
}

func (r *rig) judgeOne(n int, e *entry, at *place, sum *tally) {
	r.t.Helper()
	res := e.results[0]
	if res.Topic != e.rec.Topic || res.Tag != e.rec.Tag {
		r.t.Errorf("record %d: result of topic %q, tag %v", n, res.Topic, res.Tag)
	}
	if res.Outcome != producer.Written {
		r.judgeError(n, &res)
	}
	switch res.Outcome {
	case producer.Written:
		sum.written++
		switch {
		case res.Err != nil:
			r.t.Errorf("record %d is written, and has an error: %v", n, res.Err)
		case at == nil:
			r.t.Errorf("record %d is lost: %+v", n, res)
		case at.partition != res.Partition || res.Offset >= 0 && at.rec.Offset != res.Offset:
			r.t.Errorf("record %d is at %d/%d, reported at %d/%d", n, at.partition, at.rec.Offset, res.Partition, res.Offset)
		case !res.Timestamp.Equal(at.rec.Timestamp):
			r.t.Errorf("record %d has timestamp %v in the log, reported %v", n, at.rec.Timestamp, res.Timestamp)
		}
	case producer.NotWritten:
		sum.notWritten++
		if at != nil {
			r.t.Errorf("record %d is in the log at %d/%d: %v", n, at.partition, at.rec.Offset, res.Err)
		}
	default:
		sum.unknown++
	}
}

// judgeError checks the fields of a failure (K60).
func (r *rig) judgeError(n int, res *producer.Result) {
	r.t.Helper()
	var re *producer.RecordError
	switch {
	case res.Offset != -1 || !res.Timestamp.IsZero():
		r.t.Errorf("record %d is not written, and has offset %d, timestamp %v", n, res.Offset, res.Timestamp)
	case !errors.As(res.Err, &re):
		r.t.Errorf("record %d: error %v", n, res.Err)
	case re.Topic != res.Topic || re.Partition != res.Partition || re.Outcome != res.Outcome || re.Err == nil:
		r.t.Errorf("record %d: result %+v, error %+v", n, *res, *re)
	case producer.SafeToResend(res.Err) != (res.Outcome == producer.NotWritten):
		r.t.Errorf("record %d: %v is safe to resend: %v", n, res.Err, producer.SafeToResend(res.Err))
	}
}

// place is where a record was found.
type place struct {
	partition int32
	rec       producertest.Record
}

// readLog finds the records by the numbers in their values.
func (r *rig) readLog() map[int]*place {
	r.t.Helper()
	found := map[int]*place{}
	seen := map[string]bool{}
	for _, e := range r.entries {
		if seen[e.rec.Topic] {
			continue
		}
		seen[e.rec.Topic] = true
		for p := int32(0); ; p++ {
			if _, _, err := r.c.Leader(e.rec.Topic, p); err != nil {
				break
			}
			r.readPartition(found, e.rec.Topic, p)
		}
	}
	return found
}

func (r *rig) readPartition(found map[int]*place, topic string, p int32) {
	r.t.Helper()
	recs, err := r.c.Records(topic, p)
	if err != nil {
		r.t.Fatal(err)
	}
	last := -1
	for _, rec := range recs {
		n, err := strconv.Atoi(string(rec.Value[:min(8, len(rec.Value))]))
		if err != nil || n >= len(r.entries) || !bytes.Equal(rec.Value, r.entries[n].rec.Value) || !bytes.Equal(rec.Key, r.entries[n].rec.Key) {
			r.t.Errorf("%s/%d/%d: key %q value %.20q, which nobody produced", topic, p, rec.Offset, rec.Key, rec.Value)
			continue
		}
		if before := found[n]; before != nil {
			r.t.Errorf("record %d is at %d/%d and at %d/%d", n, before.partition, before.rec.Offset, p, rec.Offset)
		}
		if n < last && !r.unordered {
			r.t.Errorf("%s/%d/%d: record %d behind %d", topic, p, rec.Offset, n, last)
		}
		last = max(last, n)
		found[n] = &place{p, rec}
	}
}
