package producer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/internal/verify"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// fullBuffer is a producer whose window of 20 is closed and whose buffer is
// full behind it, with room for 40 records of recordSize in all. The window
// opens with the channel.
func fullBuffer(t *testing.T, maxBlock time.Duration) (s *tapped, open func()) {
	t.Helper()
	cc := topics(1)
	cc.SequenceWindow = 20
	s = newTapped(t, cc, func(c *config.Config) {
		c.BufferBytes, c.MaxBlock = 40*oneRecord, maxBlock
	})
	s.warm(0)
	hold := make(chan struct{})
	s.c.OnProduce(refuseOnce(10, producertest.Hold(hold)))
	s.tens(0, 4)
	time.Sleep(time.Second)
	s.wantSent(0, 0, 0, 10, 20) // the sender holds
	if st := s.p.Stats(); st.BufferedBytes != 40*oneRecord || st.Throttled == 0 {
		t.Fatalf("%+v", st)
	}
	return s, func() { close(hold) }
}

// oneRecord is what a record of recordSize takes of the buffer: as a batch of
// its own.
const oneRecord = 61 + 109

// The window is closed and the buffer full: Produce waits, as long as its
// context allows.
func TestWindowClosedProduceBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, open := fullBuffer(t, config.Unbounded)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		given := s.produce(ctx, producer.Record{Partition: producer.On(0)}, recordSize)
		if d := time.Since(begun); d != 3*time.Second {
			t.Errorf("blocked for %v", d)
		}
		synctest.Wait()
		if r := s.result(given); r.Outcome != producer.NotWritten || !errors.Is(r.Err, context.DeadlineExceeded) {
			t.Errorf("%+v", r)
		}
		time.AfterFunc(20*time.Second, open)
		through := s.produce(t.Context(), producer.Record{Partition: producer.On(0)}, recordSize)
		if d := time.Since(begun); d != 23*time.Second {
			t.Errorf("blocked for %v", d)
		}
		if sum := s.judge(); sum.written != 51 || sum.notWritten != 1 {
			t.Errorf("%+v", sum)
		}
		s.wantOffsets(through, 1)
	})
}

// It waits for max.block.ms at most, and not at all if that is 0; TryProduce
// never waits.
func TestWindowClosedProduceFails(t *testing.T) {
	for _, wait := range []time.Duration{0, 2 * time.Second} {
		t.Run(wait.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, open := fullBuffer(t, wait)
				begun := time.Now()
				given := s.produce(t.Context(), producer.Record{Partition: producer.On(0)}, recordSize)
				if d := time.Since(begun); d != wait {
					t.Errorf("blocked for %v", d)
				}
				synctest.Wait()
				if r := s.result(given); !errors.Is(r.Err, producer.ErrBufferFull) || !producer.SafeToResend(r.Err) {
					t.Errorf("%+v", r)
				}
				if err := s.try(producer.Record{Partition: producer.On(0)}, recordSize); !errors.Is(err, producer.ErrBufferFull) {
					t.Errorf("%v", err)
				}
				open()
				if sum := s.judge(); sum.written != 50 || sum.notWritten != 1 || sum.refused != 1 {
					t.Errorf("%+v", sum)
				}
			})
		})
	}
}

// Those who wait get their places in the order of their coming, as answers free
// the buffer record by record; one who gives up in between holds up nobody.
func TestWindowReleasesFIFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.SequenceWindow = 1
		s := newTapped(t, cc, func(c *config.Config) {
			c.BatchBytes, c.BufferBytes, c.MaxBlock = 200, 5*oneRecord, config.Unbounded
		})
		s.warm(0)
		answer := make(chan struct{})
		s.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Hold(answer) })
		var running sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 60 {
			running.Go(func() {
				with := t.Context()
				if i%7 == 6 {
					with = ctx
				}
				s.produce(with, producer.Record{Partition: producer.On(0)}, recordSize)
			})
			synctest.Wait() // it stands in line: the rig's number is its place
		}
		if st := s.p.Stats(); st.Blocked != 55 {
			t.Errorf("%d wait", st.Blocked)
		}
		cancel() // of eight
		synctest.Wait()
		for left := 47; left >= 0; left-- {
			if st := s.p.Stats(); st.Blocked != left {
				t.Fatalf("%d wait, want %d", st.Blocked, left)
			}
			answer <- struct{}{}
			synctest.Wait()
		}
		running.Wait()
		close(answer)
		if sum := s.judge(); sum.written != 10+52 || sum.notWritten != 8 { // the rig compares the order
			t.Errorf("%+v", sum)
		}
	})
}

// Many callers, a buffer of a few batches, a small window, real sockets: nobody
// sleeps through his wake-up. A lost one would leave the test hanging.
func TestWindowLosesNoWakeUp(t *testing.T) {
	const callers, records = 16, 250
	v := newVerified(t, producertest.Config{SequenceWindow: 30, Topics: map[string]int32{"t": 3}}, func(c *config.Config) {
		c.BatchBytes, c.BufferBytes, c.MaxBlock, c.Linger = tenRecords, 25*oneRecord, config.Unbounded, 0
	})
	logs := make([]*verify.Log, callers)
	var running sync.WaitGroup
	for i := range callers {
		logs[i] = verify.New("t", uint32(i))
		running.Go(func() {
			for n := range records {
				v.into(logs[i], producer.On(int32(n%3)))
			}
		})
	}
	running.Wait()
	v.judge(t, logs...)
	if st := v.p.Stats(); st.Written != callers*records || st.BufferedBytes != 0 {
		t.Errorf("%+v", st)
	}
}
