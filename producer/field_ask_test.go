package producer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// smallBatches makes one batch of each record, and patience for all of them.
func smallBatches(c *config.Config) {
	c.Linger, c.BatchBytes, c.DeliveryTimeout = 0, 1, time.Hour
}

// cutWithDoubt leaves n batches in doubt, of which the first applied are in the
// log, and waits until everything has its outcome. It returns how many were
// received again. Other than Produce responses go through spoil.
func cutWithDoubt(r *rig, n, applied int, spoil func(*producertest.Response)) (resent int) {
	r.t.Helper()
	if _, err := r.sync(r.t.Context(), producer.Record{}, 10); err != nil {
		r.t.Fatal(err)
	}
	hold, served, cut := make(chan struct{}), 0, false
	r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault {
		switch served++; {
		case cut:
			resent++
		case served == 1:
			return producertest.Hold(hold) // until all are in flight
		case served == applied:
			cut = true
			return producertest.Drop()
		}
		return producertest.Fault{}
	})
	r.c.OnResponse(func(resp *producertest.Response) {
		if resp.Request.Key() != 0 {
			spoil(resp)
		} else if !cut {
			resp.Withhold = true
		}
	})
	for range n {
		r.produce(r.t.Context(), producer.Record{}, 10)
	}
	synctest.Wait()
	close(hold)
	r.flush(time.Minute)
	r.c.OnProduce(nil)
	r.c.OnResponse(nil)
	return resent
}

func nothing(*producertest.Response) {}

// told lets change edit what brokers say of their producers.
func told(change func(p *kmsg.DescribeProducersResponseTopicPartition)) func(*producertest.Response) {
	return func(resp *producertest.Response) {
		if m, ok := resp.Message.(*kmsg.DescribeProducersResponse); ok {
			change(&m.Topics[0].Partitions[0])
		}
	}
}

// A replay with much in doubt begins where the broker says that it is, if it
// says so: what it has need not cross the wire again.
func TestReplayBeginsWhereTheBrokerIs(t *testing.T) {
	const n, applied = 60, 50
	for name, c := range map[string]struct {
		cluster producertest.Config
		most    int
	}{
		"asking":  {topics(1), n - applied + 1},
		"silence": {silent(), 2 * n},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, c.cluster, smallBatches)
				resent := cutWithDoubt(r, n, applied, nothing)
				if resent > c.most {
					t.Errorf("%d batches were sent again, want at most %d", resent, c.most)
				}
				if asked := r.p.Stats().Questions > 0; asked != (name == "asking") {
					t.Errorf("asked: %v", asked)
				}
				r.judge()
			})
		})
	}
}

// A topic that may not be asked about is not asked about again, and the replay
// does without.
func TestNoLeaveToAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), smallBatches)
		refuse := told(func(p *kmsg.DescribeProducersResponseTopicPartition) {
			p.ErrorCode, p.ActiveProducers = 29, nil // TOPIC_AUTHORIZATION_FAILED
		})
		for range 2 {
			cutWithDoubt(r, 20, 10, refuse)
		}
		if n := r.p.Stats().Questions; n != 1 {
			t.Errorf("asked %d times, want once", n)
		}
		r.judge()
	})
}

// It is asked about again once rights may have changed (metadata.max.age.ms), and
// what the broker says then is used: the replay begins further on.
func TestLeaveToAskIsGivenLater(t *testing.T) {
	const n, applied = 60, 50
	for name, c := range map[string]struct {
		later time.Duration
		asked int64 // in all
	}{
		"too early": {time.Minute, 1},
		"later":     {6 * time.Minute, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, topics(1), smallBatches)
				cutWithDoubt(r, n, applied, told(func(p *kmsg.DescribeProducersResponseTopicPartition) {
					p.ErrorCode, p.ActiveProducers = 29, nil // TOPIC_AUTHORIZATION_FAILED
				}))
				time.Sleep(c.later)
				resent := cutWithDoubt(r, n, applied, nothing)
				if used := resent <= n-applied+1; used != (c.asked == 2) {
					t.Errorf("%d batches were sent again", resent)
				}
				if asked := r.p.Stats().Questions; asked != c.asked {
					t.Errorf("asked %d times, want %d", asked, c.asked)
				}
				if sum := r.judge(); sum.written != 2*(n+1) {
					t.Errorf("%+v", sum)
				}
			})
		})
	}
}

// A broker that is behind what it acknowledged lost data (unclean election).
// What is in doubt is unknown, and the partition goes on.
func TestDataLossIsToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), smallBatches)
		for range 5 {
			if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
				t.Fatal(err)
			}
		}
		cutWithDoubt(r, 20, 10, told(func(p *kmsg.DescribeProducersResponseTopicPartition) {
			p.ActiveProducers[0].LastSequence = 2
		}))
		if s := r.p.Stats(); s.Unknown == 0 || s.Alarms != 1 {
			t.Errorf("%d unknown, %d alarms; want some and one", s.Unknown, s.Alarms)
		}
		if !r.anyError(producer.ErrDataLoss) {
			t.Error("no record says that data was lost")
		}
		if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
			t.Errorf("the partition does not go on: %v", err)
		}
		r.judge()
	})
}

// A broker that is ahead of what was sent has heard of someone else under the
// same producer ID.
func TestSecondOwnerIsToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), smallBatches)
		cutWithDoubt(r, 20, 10, told(func(p *kmsg.DescribeProducersResponseTopicPartition) {
			p.ActiveProducers[0].LastSequence = 1000
		}))
		if !r.anyError(producer.ErrSecondOwner) {
			t.Error("no record says that there is a second owner")
		}
		if _, err := r.sync(t.Context(), producer.Record{}, 10); !errors.Is(err, producer.ErrSecondOwner) {
			t.Errorf("a later record: %v", err)
		}
		r.judge()
	})
}

// R8: where the broker forgot the producer while batches are in doubt the log
// says which of them are written. Those that are not to be seen there stay
// unknown, and nothing is sent again.
func TestForgottenInDoubtIsReadFromTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, applied = 20, 12
		r := newRig(t, topics(1), smallBatches)
		forgotten := told(func(p *kmsg.DescribeProducersResponseTopicPartition) { p.ActiveProducers = nil })
		if resent := cutWithDoubt(r, n, applied, forgotten); resent != 0 {
			t.Errorf("%d batches were sent again", resent)
		}
		s := r.p.Stats()
		if s.Written != 1+applied || s.Unknown != n-applied {
			t.Errorf("%d written, %d unknown; want %d and %d", s.Written, s.Unknown, 1+applied, n-applied)
		}
		if !r.anyError(producer.ErrStateLost) {
			t.Error("no record says that the state was lost")
		}
		if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
			t.Errorf("the partition does not go on: %v", err)
		}
		r.judge()
	})
}

// The answer to a question that is lost with its connection is asked for again.
func TestLostAnswerIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), smallBatches)
		lost := false
		cutWithDoubt(r, 20, 10, func(resp *producertest.Response) {
			if resp.Request.Key() == 61 && !lost {
				lost, resp.CutAfter = true, 0
			}
		})
		if s := r.p.Stats(); s.Questions != 2 || s.Written != 21 {
			t.Errorf("%d questions, %d written; want 2 and 21", s.Questions, s.Written)
		}
		r.judge()
	})
}

// anyError reports whether the error of some result has target in its chain.
func (r *rig) anyError(target error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		for _, res := range e.results {
			if errors.Is(res.Err, target) {
				return true
			}
		}
	}
	return false
}

// A deposed leader is behind, and has lost nothing. It is asked again until its
// cluster has told it, and metadata has told us.
func TestBehindUnderAnotherBrokerIsLookedIntoAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.Brokers = 2
		r := newRig(t, cc, smallBatches)
		for range 5 {
			if _, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
				t.Fatal(err)
			}
		}
		lies := 0
		began := time.Now()
		r.c.OnProduce(func(a producertest.ProduceAttempt) producertest.Fault {
			if a.Broker == 0 {
				_ = r.c.MoveLeader("t", 0, 1)
				return producertest.Drop()
			}
			return producertest.Fault{}
		})
		r.c.OnResponse(func(resp *producertest.Response) {
			if m, ok := resp.Message.(*kmsg.DescribeProducersResponse); ok && resp.Broker == 1 && time.Since(began) < 5*time.Second {
				lies++
				m.Topics[0].Partitions[0].ActiveProducers[0].LastSequence = 2
			}
		})
		for range 20 {
			r.produce(t.Context(), producer.Record{}, 10)
		}
		r.flush(time.Minute)
		if s := r.p.Stats(); lies < 2 || s.Alarms != 0 || s.Unknown != 0 {
			t.Errorf("asked %d times, %d alarms, %d unknown", lies, s.Alarms, s.Unknown)
		}
		r.judge()
	})
}
