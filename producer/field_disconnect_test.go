package producer_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

const produceKey = 0

// responseSize is how many bytes a response of a flexible version has on the
// wire: size, correlation ID, tags of the header, body.
func responseSize(r *producertest.Response) int {
	return 4 + 4 + 1 + len(r.Message.AppendTo(nil))
}

// K23: the broker hangs up within its answer, after each of its bytes, in order
// or with a reset, and a second batch is behind the first. All of it is one and
// the same: both are unknown, and are sent again in order.
func TestK23CutWhileReading(t *testing.T) {
	t.Run("in memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { cutResponses(t, true) })
	})
	t.Run("sockets", func(t *testing.T) { cutResponses(t, false) })
}

func cutResponses(t *testing.T, memory bool) {
	cc := topics(1)
	cc.InMemory = memory
	s := newTapped(t, cc, func(c *config.Config) { // none of its connections serves for long
		c.ReconnectBackoff, c.ReconnectBackoffMax = time.Millisecond, 2*time.Millisecond
	})
	s.warm(0)
	want := []int32{0}
	size := 100 // more than it has, until the first one is seen
	for i := 0; i/2 < size; i++ {
		base := int32(10 + 20*i)
		release := make(chan struct{})
		s.c.OnProduce(refuseOnce(base, producertest.Hold(release)))
		done := false
		s.c.OnResponse(func(r *producertest.Response) {
			if r.Request.Key() == produceKey && !done {
				done, size = true, responseSize(r)
				r.CutAfter, r.Orderly = i/2, i%2 == 1
			}
		})
		before := s.firsts()
		s.tens(0, 2)
		s.awaitFirsts(before + 2)
		close(release)
		s.flush(time.Minute)
		want = append(want, base, base+10, base, base+10)
	}
	s.judgeWritten()
	if memory { // where linger does not depend on the machine
		s.wantSent(0, 0, want...)
	}
	s.wantOffsets(0, len(s.entries))
	if st := s.p.Stats(); st.Connections != int64(1+2*size) || size > 90 {
		t.Errorf("%d connections for a response of %d bytes", st.Connections, size)
	}
}

// K23: the connection ends within the request, after each of its bytes.
func TestK23CutWhileWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTapped(t, topics(1), func(c *config.Config) { c.Linger = 0 })
		s.produce(t.Context(), producer.Record{}, 0)
		s.flush(time.Minute)
		size := 1
		for cut := 0; cut <= size; cut++ {
			done := false
			s.tap.onWrite(func(key int16, n int) int {
				if key != produceKey || done {
					return -1
				}
				done, size = true, n
				return cut
			})
			s.produce(t.Context(), producer.Record{}, 0)
			s.flush(time.Minute)
		}
		s.judgeWritten()
		s.wantOffsets(0, len(s.entries))
		if st := s.p.Stats(); st.Connections < int64(size) || st.Connections > int64(1+size+1) || size < 100 || st.OutOfOrder > 0 {
			t.Errorf("a request of %d bytes, %+v", size, st)
		}
	})
}

// K23: a record of which no byte was ever written is not written, one of which
// a single byte was is unknown.
func TestK23NothingWritten(t *testing.T) {
	for bytes, want := range []producer.Outcome{producer.NotWritten, producer.Unknown} {
		synctest.Test(t, func(t *testing.T) {
			s := newTapped(t, topics(1), shortTimes)
			s.warm(0)
			s.tap.onWrite(func(key int16, _ int) int {
				if key == produceKey {
					return bytes
				}
				return -1
			})
			first := s.tens(0, 1)
			s.flush(time.Hour)
			s.wantOutcomes(first, 10, want, producer.ErrDeliveryTimeout)
			s.judge()
		})
	}
}

// K24: a record that fits a batch, but with its names not a request, fails at
// once; the next ones flow.
func TestK24RequestTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 1 << 20
		topic := strings.Repeat("n", 249)
		cc := topics(1)
		cc.Topics[topic] = 1
		s := newTapped(t, cc, func(c *config.Config) {
			c.MaxRequestBytes, c.ClientID = limit, strings.Repeat("c", 50)
		})
		before := s.produce(t.Context(), producer.Record{Topic: topic}, 100)
		tooLarge := s.produce(t.Context(), producer.Record{Topic: topic}, limit-150) // as a batch below the limit
		synctest.Wait()
		if err := s.result(tooLarge).Err; !errors.Is(err, producer.ErrRecordTooLarge) || !producer.SafeToResend(err) {
			t.Errorf("%v", err)
		}
		largest := s.produce(t.Context(), producer.Record{Topic: topic}, limit-600)
		s.produce(t.Context(), producer.Record{Topic: topic}, 100)
		if sum := s.judge(); sum.written != 3 || sum.notWritten != 1 {
			t.Errorf("%+v", sum)
		}
		s.wantOffsets(before, 1)
		s.wantOffsets(largest, 1)
		if st := s.p.Stats(); st.Connections != 1 {
			t.Errorf("%d connections", st.Connections)
		}
	})
}

// K24: the broker takes less than it was configured for here, and hangs up
// without a word. The record has its outcome at the deadline, honestly, without
// a storm of connections; the ones behind it flow, and those of a neighbour,
// which shares connection and requests, meanwhile.
func TestK24BrokerHangsUpOnTheSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(2)
		cc.MaxRequestBytes = 64 << 10
		s := newTapped(t, cc, nil)
		s.warm(0, 1)
		begun := time.Now()
		large := s.produce(t.Context(), producer.Record{Partition: producer.On(0)}, 100<<10)
		behind := 0
		for i := range 60 {
			if i == 30 {
				behind = s.tens(0, 3)
			}
			fine := s.tens(1, 1)
			time.Sleep(5 * time.Second)
			s.wantOutcomes(fine, 10, producer.Written, nil)
			if t.Failed() {
				t.Fatalf("after %v", time.Since(begun))
			}
		}
		s.judge()
		s.wantOutcomes(large, 1, producer.Unknown, producer.ErrDeliveryTimeout)
		s.wantOutcomes(behind, 30, producer.Written, nil)
		if st := s.p.Stats(); st.Connections > 200 {
			t.Errorf("%d connections in two minutes", st.Connections)
		}
	})
}
