package producer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// shortTimes makes a request wait a second and a record two.
func shortTimes(c *config.Config) {
	c.RequestTimeout, c.DeliveryTimeout = time.Second, 2*time.Second
}

// wantOutcomes compares the outcome of n records from first on.
func (s *tapped) wantOutcomes(first, n int, want producer.Outcome, cause error) {
	s.t.Helper()
	for i := first; i < first+n; i++ {
		if r := s.result(i); r.Outcome != want || cause != nil && !errors.Is(r.Err, cause) {
			s.t.Errorf("record %d: %v, %v; want %v, %v", i, r.Outcome, r.Err, want, cause)
			return
		}
	}
}

// wantNewEpoch fails if something of the old epoch was written behind something
// of the next, or the next does not begin at sequence 0.
func (s *tapped) wantNewEpoch(epoch int16) {
	s.t.Helper()
	begun := false
	for _, b := range s.tap.batches(nil) {
		switch {
		case b.epoch == epoch && !begun && b.base != 0:
			s.t.Errorf("epoch %d begins with %v", epoch, b)
		case b.epoch != epoch && begun:
			s.t.Errorf("%v was written after epoch %d had begun", b, epoch)
		}
		begun = begun || b.epoch == epoch
	}
	if !begun {
		s.t.Errorf("epoch %d never began", epoch)
	}
}

// K03: the broker is silent until the first of three batches is too old. What
// was sent is given up as a whole, for it may still arrive; what was not goes on
// in a new epoch, and whatever arrives late is fenced or lands before it.
func TestK03ExpiredBatchHoldsSequences(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(1), shortTimes)
		s.warm(0)
		begun, silence := time.Now(), make(chan struct{})
		time.AfterFunc(3*time.Second, func() { close(silence) })
		s.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
			return producertest.Hold(silence)
		})
		sent := s.tens(0, 3)
		time.Sleep(1500 * time.Millisecond)
		behind := s.tens(0, 1) // not sent: the partition replays
		s.flush(time.Minute)
		if d := time.Since(begun); d > 4500*time.Millisecond {
			t.Errorf("took %v", d)
		}
		after := s.tens(0, 2)
		sum := s.judge()
		s.wantOutcomes(sent, 30, producer.Unknown, producer.ErrDeliveryTimeout)
		s.wantOutcomes(behind, 10, producer.Written, nil)
		s.wantOutcomes(after, 20, producer.Written, nil)
		s.wantNewEpoch(1)
		if sum.written != 40 {
			t.Errorf("%+v", sum)
		}
	})
}

// K03, the other way round: a batch that is surely absent at its deadline is not
// written, alone, and its sequences are never given to another one.
func TestK03ExpiredBatchIsAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(1), shortTimes)
		s.warm(0)
		s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.ProducerEpoch == 0 {
				return producertest.Refuse(19)
			}
			return producertest.Fault{}
		})
		absent := s.tens(0, 1)
		time.Sleep(time.Second)
		behind := s.tens(0, 2)
		s.judge()
		s.wantOutcomes(absent, 10, producer.NotWritten, producer.ErrDeliveryTimeout)
		s.wantOutcomes(absent, 10, producer.NotWritten, producer.Code(19))
		s.wantOutcomes(behind, 20, producer.Written, nil)
		s.wantNewEpoch(1)
	})
}

// K04: the answer is late and the batch is sent again, but only when the first
// connection was closed; of the two copies in the broker's hands, whichever it
// takes first, one is a duplicate.
func TestK04OneCopyAtATime(t *testing.T) {
	for name, late := range map[string]time.Duration{
		"the first copy wins":  1100 * time.Millisecond,
		"the second copy wins": 1900 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTapped(t, topics(1), func(c *config.Config) {
					c.RequestTimeout, c.ReconnectBackoff = time.Second, 500*time.Millisecond
				})
				s.warm(0)
				first, second := make(chan struct{}), make(chan struct{})
				s.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
					switch {
					case a.FirstTime():
						return producertest.Hold(first)
					case a.Attempt == 2 && a.BaseSequence == 10:
						return producertest.Hold(second) // both are there
					}
					return producertest.Fault{}
				})
				time.AfterFunc(late, func() { close(first) })
				time.AfterFunc(1800*time.Millisecond, func() { close(second) })
				s.tens(0, 3)
				s.await(0, 1+3+1)
				s.judgeWritten() // the tap watches the order of closing and writing
				s.wantSent(0, 0, 0, 10, 20, 30, 10, 20, 30)
				s.wantOffsets(0, 40)
				if all, atOnce := s.tap.carriers(s.c.Addrs()[0]); all != 2 || atOnce != 1 {
					t.Errorf("%d connections, %d at once", all, atOnce)
				}
			})
		})
	}
}
