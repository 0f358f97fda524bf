package producer_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/sluice-kafka/sluice/producer/producertest"
)

// awkwardRecords are records in which nil and empty differ, and all else is
// there that a batch, a split or a second attempt could lose (K26, K51, K56).
func awkwardRecords(n int) []producer.Record {
	variants := [][]byte{nil, {}, []byte("x"), bytes.Repeat([]byte{0xff}, 300)}
	start := time.Now().Add(123_456_789).In(time.FixedZone("", 3600))
	var recs []producer.Record
	for i := range n {
		rec := producer.Record{
			Topic: "t", Key: variants[i%4], Value: variants[i/4%4],
			Timestamp: start.Add(time.Duration(rand.IntN(2001)-1000) * time.Millisecond),
		}
		for h := range i / 16 % 4 {
			rec.Headers = append(rec.Headers, producer.Header{Key: []string{"", "a", "a"}[h], Value: variants[(i+h)%4]})
		}
		recs = append(recs, rec)
	}
	return recs
}

func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

// sameRecord says in what way the log has another record than was produced, ""
// if in none.
func sameRecord(want producer.Record, got producertest.Record) string {
	switch {
	case !sameBytes(want.Key, got.Key):
		return fmt.Sprintf("key %#v, produced %#v", got.Key, want.Key)
	case !sameBytes(want.Value, got.Value):
		return fmt.Sprintf("value %#v, produced %#v", got.Value, want.Value)
	case !got.Timestamp.Equal(want.Timestamp.Truncate(time.Millisecond)):
		return fmt.Sprintf("timestamp %v, produced %v", got.Timestamp, want.Timestamp)
	case len(want.Headers) != len(got.Headers):
		return fmt.Sprintf("%d headers, produced %d", len(got.Headers), len(want.Headers))
	}
	for i, h := range want.Headers {
		if g := got.Headers[i]; g.Key != h.Key || !sameBytes(g.Value, h.Value) {
			return fmt.Sprintf("header %d %q %#v, produced %q %#v", i, g.Key, g.Value, h.Key, h.Value)
		}
	}
	return ""
}

// K26, K51, K56: key, value, headers and timestamp arrive as they were given,
// through the queue of an unknown topic, batches, every codec, a second attempt
// and a split.
func TestK56RecordsArriveUnchanged(t *testing.T) {
	refuse := func(code int16, most int) func(producertest.ProduceAttempt) producertest.Fault {
		return func(a producertest.ProduceAttempt) producertest.Fault {
			if a.FirstTime() && int(a.Records) > most {
				return producertest.Refuse(code)
			}
			return producertest.Fault{}
		}
	}
	for name, fault := range map[string]func(producertest.ProduceAttempt) producertest.Fault{
		"well":           nil,
		"second attempt": refuse(19, 0),
		"split":          refuse(10, 7),
		"lost answers": func(a producertest.ProduceAttempt) producertest.Fault {
			if a.FirstTime() && a.BaseSequence > 0 {
				return producertest.Drop()
			}
			return producertest.Fault{}
		},
	} {
		for codec := config.CompressionNone; codec <= config.CompressionZstd; codec++ {
			t.Run(name+"/"+codec.String(), func(t *testing.T) {
				bubble := synctest.Test
				if codec == config.CompressionZstd {
					// Its pooled encoders hold channels, which may not cross bubbles.
					bubble = func(t *testing.T, run func(*testing.T)) { run(t) }
				}
				bubble(t, func(t *testing.T) {
					r := newRig(t, topics(1), func(c *config.Config) {
						c.Compression, c.BatchBytes, c.Linger = codec, 4000, time.Second
					})
					r.c.OnProduce(fault)
					recs := awkwardRecords(256)
					results := make([]producer.Result, len(recs))
					for i, rec := range recs {
						r.p.Produce(t.Context(), rec, func(res producer.Result) { results[i] = res })
					}
					if err := r.p.Close(r.within(time.Hour)); err != nil {
						t.Fatal(err)
					}
					stored, err := r.c.Records("t", 0)
					if err != nil || len(stored) != len(recs) {
						t.Fatalf("%d records in the log, %v", len(stored), err)
					}
					for i, rec := range recs {
						if diff := sameRecord(rec, stored[i]); diff != "" {
							t.Errorf("record %d: %s", i, diff)
						}
						if res := results[i]; res.Err != nil || res.Offset != int64(i) || !res.Timestamp.Equal(stored[i].Timestamp) {
							t.Errorf("record %d: %+v", i, res)
						}
					}
					if v := r.c.Violations(); len(v) > 0 {
						t.Error(v)
					}
				})
			})
		}
	}
}

// K51: where the broker puts its own time on records, that is what is reported.
func TestK51LogAppendTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc := topics(1)
		cc.LogAppendTime = true
		r := newRig(t, cc, nil)
		old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
		for range 3 {
			time.Sleep(1234 * time.Millisecond)
			res, err := r.sync(t.Context(), producer.Record{Timestamp: old}, 10)
			if err != nil || !res.Timestamp.Equal(time.Now()) {
				t.Errorf("%+v at %v", res, time.Now())
			}
		}
		r.judge()
	})
}

// K51: without a timestamp a record has that of its Produce call.
func TestK51NoTimestampIsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) { c.Linger = 20 * time.Second })
		var want []time.Time
		for range 5 {
			time.Sleep(1001 * time.Millisecond)
			want = append(want, time.Now())
			r.produce(t.Context(), producer.Record{}, 10)
		}
		r.judge()
		for n, at := range want {
			if res := r.result(n); !res.Timestamp.Equal(at) {
				t.Errorf("record %d: %v, produced at %v", n, res.Timestamp, at)
			}
		}
	})
}

// K51: times that do not fit what people expect are kept to the millisecond.
func TestK51OddTimestamps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(1), func(c *config.Config) { c.Linger = time.Second })
		for _, ms := range []int64{0, 1, 999, 1 << 40, math.MaxInt64 / 2_000_000, 253_402_300_799_999} {
			r.produce(t.Context(), producer.Record{Timestamp: time.UnixMilli(ms)}, 10)
		}
		if sum := r.judge(); sum.written != 6 {
			t.Errorf("%+v %v", sum, r.firstError())
		}
		recs, err := r.c.Records("t", 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, ms := range []int64{0, 1, 999, 1 << 40, math.MaxInt64 / 2_000_000, 253_402_300_799_999} {
			if got := recs[i].Timestamp.UnixMilli(); got != ms {
				t.Errorf("record %d: %d, produced with %d", i, got, ms)
			}
		}
	})
}

// K60: a batch of three fails. Nothing in its results looks stored: offset -1,
// no timestamp; topic, partition and tag are the record's. judge checks the
// same of every failure of every test.
func TestK60FieldsOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(3), func(c *config.Config) { c.Linger = time.Second })
		r.c.OnProduce(func(producertest.ProduceAttempt) producertest.Fault { return producertest.Refuse(87) })
		for i := range 3 {
			r.produce(t.Context(), producer.Record{Partition: producer.On(2), Tag: fmt.Sprint(i), Timestamp: time.Now()}, 10)
		}
		r.flush(time.Minute)
		for n := range 3 {
			res := r.result(n)
			re := new(producer.RecordError)
			if res.Offset != -1 || !res.Timestamp.IsZero() || res.Topic != "t" || res.Partition != 2 || res.Tag != fmt.Sprint(n) ||
				!errors.As(res.Err, &re) || re.Attempts != 1 || !errors.Is(res.Err, producer.Code(87)) {
				t.Errorf("%+v, %+v", res, re)
			}
		}
		if sum := r.judge(); sum.notWritten != 3 {
			t.Errorf("%+v", sum)
		}
	})
}

// K72: a record for a partition that cannot exist fails at once, and no other.
func TestK72NegativePartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(3), nil)
		for _, topic := range []string{"t", "t", "u"} {
			for _, p := range []int32{-1, math.MinInt32, math.MaxInt32} {
				begun := time.Now()
				n := r.produce(t.Context(), producer.Record{Topic: topic, Partition: producer.On(p)}, 10)
				synctest.Wait()
				if res := r.result(n); !errors.Is(res.Err, producer.ErrUnknownPartition) || time.Since(begun) != 0 {
					t.Errorf("partition %d: %+v", p, res)
				}
				if err := r.try(producer.Record{Topic: topic, Partition: producer.On(p)}, 10); !errors.Is(err, producer.ErrUnknownPartition) {
					t.Errorf("partition %d: %v", p, err)
				}
				if res, err := r.sync(t.Context(), producer.Record{}, 10); err != nil {
					t.Errorf("its neighbour: %+v", res)
				}
			}
		}
		r.judge()
	})
}

// K64, K72: a partition that metadata does not list may be new. It is asked for
// some seconds long, which holds up neither callers nor other partitions, and
// the records get there in order, or fail.
func TestK64NewPartition(t *testing.T) {
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprintf("topic known %v", known), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, topics(3), nil)
				if known {
					r.sync(t.Context(), producer.Record{}, 10)
				}
				begun := time.Now()
				at := map[int]time.Duration{}
				for i := range 60 { // partitions 0 to 11
					n, rec := r.enter(producer.Record{Partition: producer.On(int32(i % 12))}, 10)
					r.p.Produce(t.Context(), rec, func(res producer.Result) { at[i] = time.Since(begun); r.note(n, res) })
					if i == 30 {
						time.Sleep(2 * time.Second)
						if err := r.c.AddPartitions("t", 3); err != nil {
							t.Error(err)
						}
					}
				}
				if time.Since(begun) != 2*time.Second {
					t.Errorf("Produce waited: %v", time.Since(begun))
				}
				r.flush(time.Minute)
				sum := r.judge()
				if sum.notWritten != 30 {
					t.Errorf("%+v", sum)
				}
				for i := range 60 {
					p, after := i%12, at[i]
					switch {
					case p < 3 && i <= 30 && after > 100*time.Millisecond,
						p < 6 && after > 4*time.Second,
						p >= 6 && (after < 3*time.Second || after > 20*time.Second):
						t.Errorf("record %d of partition %d has its outcome after %v", i, p, after)
					}
				}
			})
		})
	}
}

// K64: the error of a partition that does not come says so, and which it was.
func TestK64PartitionThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, topics(3), nil)
		for range 3 {
			res, err := r.sync(t.Context(), producer.Record{Partition: producer.On(5)}, 10)
			if !errors.Is(err, producer.ErrUnknownPartition) || res.Partition != 5 || res.Outcome != producer.NotWritten {
				t.Errorf("%+v", res)
			}
		}
		r.produce(t.Context(), producer.Record{Partition: producer.On(5)}, 10)
		if sum := r.judge(); sum.notWritten != 4 {
			t.Errorf("%+v", sum)
		}
	})
}
