package producer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// tapped is a rig with a tap on its sockets. Its batches hold ten records, so
// that tests can speak of sequences: 0, 10, 20 ...
type tapped struct {
	*rig
	tap    *tap
	memory bool
}

const (
	recordSize = 100
	// Bytes of a batch of ten records of recordSize with one timestamp. It is full
	// then, and does not wait for an eleventh.
	tenRecords = 61 + 10*(recordSize+9)
)

func newTapped(t *testing.T, cc producertest.Config, change func(*config.Config)) *tapped {
	t.Helper()
	return newSpoiltTapped(t, cc, func(*producertest.Cluster) {}, change)
}

// newSpoiltTapped is newTapped for a cluster with faults from the beginning.
func newSpoiltTapped(t *testing.T, cc producertest.Config, spoil func(*producertest.Cluster), change func(*config.Config)) *tapped {
	t.Helper()
	var tp *tap
	r := newSpoiltRig(t, cc, spoil, func(cfg *config.Config) {
		cfg.BatchBytes = tenRecords
		usual := cfg.Linger
		if change != nil {
			change(cfg)
		}
		if cfg.Linger == usual { // full batches leave at once, and no part of one does on a slow machine
			cfg.Linger = cfg.DeliveryTimeout - cfg.RequestTimeout
		}
		tp = newTap(cfg.Dialer, cfg.MaxInFlightSequences)
		cfg.Dialer = tp.dial
	})
	return &tapped{r, tp, cc.InMemory}
}

// tens produces k batches of ten records to a partition of topic t, and returns
// the number of the first record.
func (s *tapped) tens(partition int32, k int) int {
	s.t.Helper()
	first, now := -1, time.Now()
	for range 10 * k {
		n := s.produce(s.t.Context(), producer.Record{Partition: producer.On(partition), Timestamp: now}, recordSize)
		if first < 0 {
			first = n
		}
	}
	return first
}

// warm gets one batch through to each partition, so that its window is open. In
// memory it lets some time pass, so that metadata may be asked for at once.
func (s *tapped) warm(partitions ...int32) {
	s.t.Helper()
	for _, p := range partitions {
		before := len(s.tap.batches(func(b sentBatch) bool { return b.partition == p }))
		s.tens(p, 1)
		s.await(p, before+1) // a flush at once might catch a part of it
	}
	s.flush(time.Minute)
	if s.memory {
		time.Sleep(500 * time.Millisecond)
	}
}

// await waits until k batches of a partition were written.
func (s *tapped) await(partition int32, k int) {
	s.t.Helper()
	if !s.tap.await(k, func(b sentBatch) bool { return b.partition == partition }) {
		s.t.Fatalf("no %d batches of partition %d: %v", k, partition, s.tap.batches(nil))
	}
}

// judge closes the producer and asks rig and tap.
func (s *tapped) judge() tally {
	s.t.Helper()
	sum := s.rig.judge()
	for _, f := range s.tap.wrongs() {
		s.t.Errorf("on the wire: %s", f)
	}
	return sum
}

// judgeWritten is judge where every record must be written.
func (s *tapped) judgeWritten() {
	s.t.Helper()
	if sum := s.judge(); sum.written != len(s.entries) {
		s.t.Errorf("%d records, %+v", len(s.entries), sum)
		for n, e := range s.entries {
			if len(e.results) == 1 && e.results[0].Outcome != producer.Written {
				s.t.Errorf("record %d, for one: %v", n, e.results[0].Err)
				break
			}
		}
	}
}

// wantOffsets fails if a record from first on has no offset.
func (s *tapped) wantOffsets(first, n int) {
	s.t.Helper()
	for i := first; i < first+n; i++ {
		if r := s.result(i); r.Offset < 0 {
			s.t.Errorf("record %d has no offset: %+v", i, r)
			return
		}
	}
}

// wantSent compares the base sequences of what was written to a partition, in
// all and in the order of writing, and wants the epoch in all of it.
func (s *tapped) wantSent(partition int32, epoch int16, bases ...int32) {
	s.t.Helper()
	got := s.tap.batches(func(b sentBatch) bool { return b.partition == partition })
	if wrote := basesOf(got); !slices.Equal(wrote, bases) {
		same := 0
		for same < min(len(wrote), len(bases)) && wrote[same] == bases[same] {
			same++
		}
		s.t.Errorf("partition %d: after %d batches wrote %v, want %v", partition, same,
			wrote[same:min(same+20, len(wrote))], bases[same:min(same+20, len(bases))])
	}
	for _, b := range got {
		if b.epoch != epoch {
			s.t.Errorf("partition %d: wrote %v, want epoch %d", partition, b, epoch)
		}
	}
}

func basesOf(list []sentBatch) []int32 {
	bases := make([]int32, len(list))
	for i, b := range list {
		bases[i] = b.base
	}
	return bases
}

// firsts counts the batches that were written for the first time.
func (s *tapped) firsts() int {
	return len(s.tap.batches(func(b sentBatch) bool { return b.first }))
}

// awaitFirsts waits until k batches were written for the first time.
func (s *tapped) awaitFirsts(k int) {
	s.t.Helper()
	if !s.tap.await(k, func(b sentBatch) bool { return b.first }) {
		s.t.Fatalf("no %d batches", k)
	}
}

// refuseOnce refuses the first attempt of the batch at a base sequence.
func refuseOnce(base int32, f producertest.Fault) func(producertest.ProduceAttempt) producertest.Fault {
	return func(a producertest.ProduceAttempt) producertest.Fault {
		if a.BaseSequence == base && a.FirstTime() {
			return f
		}
		return producertest.Fault{}
	}
}
